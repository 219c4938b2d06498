// Guards of the current device, as c10/cuda/CUDAGuard.h has them.
#pragma once
#include "stream.h"

namespace moore_mini::cuda {

// Makes `device` current and gives back the one that was.
DeviceIndex exchange_device(DeviceIndex device);
void maybe_set_device(DeviceIndex device);

class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex device) : before_(exchange_device(device)) {}
  explicit CUDAGuard(Device device);
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;
  ~CUDAGuard() { maybe_set_device(before_); }

 private:
  DeviceIndex before_;
};

class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;

 private:
  std::optional<CUDAGuard> guard_;
};

}  // namespace moore_mini::cuda
