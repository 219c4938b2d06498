#include "hooks.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>

#include <new>

#include "generator.h"
#include "memory.h"

namespace moore_device {
namespace {

struct DeviceHooks final : at::CUDAHooksInterface {
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  std::string showConfig() const override { return "  - Simulated CUDA device\n"; }

  long versionCuDNN() const override { return 0; }
  long versionRuntimeCuDNN() const override { return 0; }
  long versionCuDNNFrontend() const override { return 0; }
  long versionCUDART() const override { return 0; }

  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  void deviceSynchronize(c10::DeviceIndex) const override {}

  // There is nothing to pin for: all host memory is as near to the device as any other.
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return device_allocator(); }
  c10::Device getDeviceFromPtr(void* pointer) const override {
    return moore_sim::is_device_pointer(pointer) ? kDevice : c10::Device(c10::kCPU);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return default_generator(); }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return new_generator(); }
};

}  // namespace

void install_hooks() {
  // PyTorch makes its hooks once, from a registry, and has done so when `import torch` returns. They hold no state, so
  // ours can take the place of that object; nobody holds more than a reference to it.
  static_assert(sizeof(DeviceHooks) == sizeof(at::CUDAHooksInterface));
  auto* current = const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks());
  current->~CUDAHooksInterface();
  new (current) DeviceHooks;
}

}  // namespace moore_device
