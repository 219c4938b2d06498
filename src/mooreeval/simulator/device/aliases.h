// Device tensors as an operator's CPU kernel sees them, for the length of one call.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <vector>

namespace moore_device {

// Makes CPU tensors over the memory of device tensors, and device tensors out of what a CPU kernel returned.
// Tensors that shared a storage before share one afterwards, in both directions.
class Aliases {
 public:
  // A CPU tensor over the same memory; the same one when asked twice.
  at::Tensor host_view_of(const at::Tensor& device_tensor);
  // A CPU storage over the same memory.
  c10::Storage host_storage_of(const c10::Storage& device_storage);
  // Results that share memory with this tensor stay on the host.
  void add_host_argument(const at::Tensor& tensor);

  // After the kernel: new sizes, strides and storages of the views go to the device tensors that they stand for.
  void carry_back();
  // After carry_back: an argument's own view becomes that argument, a view into an argument's memory becomes a device
  // view, anything else a device tensor of its own.
  at::Tensor device_result_of(const at::Tensor& host_result);

 private:
  struct StoragePair {
    c10::Storage device, host;
    void* lent;  // address at the start of the call; another one afterwards means that the kernel resized it
  };
  struct TensorPair {
    at::Tensor device, host;
  };

  c10::Storage device_storage_of(const c10::Storage& host_storage);
  void carry_back_storage(StoragePair& pair);
  void carry_back_tensor(TensorPair& pair);

  c10::SmallVector<StoragePair, 4> storages_;
  c10::SmallVector<TensorPair, 4> tensors_;
  std::vector<at::Tensor> host_arguments_;
};

}  // namespace moore_device
