// The one kernel behind (almost) every operator of the simulated device.
#pragma once
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <string>
#include <vector>

#include "aliases.h"

namespace moore_device {

// Runs the operator's CPU kernel on the memory of its device tensors.
class DeviceKernel : public c10::OperatorKernel {
 public:
  explicit DeviceKernel(const c10::FunctionSchema& schema);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack);

 private:
  enum class Kind { TENSOR, TENSORS, OPTIONAL_TENSORS, STORAGE, DEVICE, GENERATOR };
  struct Argument {  // one that can hold something of a device
    size_t position;
    Kind kind;
    std::string name;
    bool written, may_be_on_host;
  };
  // What one call has seen of its arguments.
  struct Seen {
    bool device_tensor = false, device_generator = false, host_generator = false;
    const Argument* misplaced = nullptr;  // the first on the host where a real device would refuse it
    c10::Device misplaced_device{c10::kCPU};
    void misplace(const Argument& argument, c10::Device device);
  };

  static bool kind_of(const c10::Argument& argument, Kind& kind);
  void to_host(c10::IValue& value, const Argument& argument, Aliases& aliases, Seen& seen) const;
  at::Tensor host_tensor(const at::Tensor& tensor, const Argument& argument, Aliases& aliases, Seen& seen) const;
  void check_devices(const Seen& seen) const;
  void results_to_device(c10::Stack* stack, Aliases& aliases) const;

  std::string name_;
  std::vector<Argument> arguments_;
  size_t argument_count_, result_count_;
  std::atomic<int64_t>* calls_;  // this operator's line in the log
};

// For operators that choose an implementation by device: as a whole on the host when no gradient is wanted, otherwise
// as PyTorch composes them.
class ChoosingKernel final : public c10::OperatorKernel {
 public:
  explicit ChoosingKernel(const c10::FunctionSchema& schema) : whole_(schema) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack);

 private:
  DeviceKernel whole_;
};

// For operators that only real CUDA devices have.
class MissingKernel final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack*);
};

}  // namespace moore_device
