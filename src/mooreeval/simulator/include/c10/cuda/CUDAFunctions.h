// The one device, in PyTorch's words.
#pragma once

#include <c10/core/Device.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAMacros.h>

#include <optional>

#include "moore_sim/runtime_api.h"

namespace c10::cuda {

C10_CUDA_API inline DeviceIndex device_count() noexcept { return 1; }
C10_CUDA_API inline DeviceIndex device_count_ensure_non_zero() { return 1; }
C10_CUDA_API inline DeviceIndex current_device() { return 0; }
C10_CUDA_API inline void set_device(DeviceIndex device, bool = false) { C10_CUDA_CHECK(cudaSetDevice(device)); }
C10_CUDA_API inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
C10_CUDA_API inline cudaError_t GetDeviceCount(int* count) { return cudaGetDeviceCount(count); }
C10_CUDA_API inline cudaError_t GetDevice(DeviceIndex* device) {
  *device = 0;
  return cudaSuccess;
}
C10_CUDA_API inline cudaError_t SetDevice(DeviceIndex device, bool = false) { return cudaSetDevice(device); }
C10_CUDA_API inline cudaError_t MaybeSetDevice(DeviceIndex device) { return cudaSetDevice(device); }
C10_CUDA_API inline DeviceIndex ExchangeDevice(DeviceIndex device) {
  set_device(device);
  return 0;
}
C10_CUDA_API inline DeviceIndex MaybeExchangeDevice(DeviceIndex device) { return ExchangeDevice(device); }
C10_CUDA_API inline void memcpy_and_sync(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind,
                                         cudaStream_t stream) {
  C10_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
}
C10_CUDA_API inline void stream_synchronize(cudaStream_t stream) { C10_CUDA_CHECK(cudaStreamSynchronize(stream)); }
C10_CUDA_API inline bool hasPrimaryContext(DeviceIndex device) { return device == 0; }
C10_CUDA_API inline std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() { return DeviceIndex(0); }

}  // namespace c10::cuda
