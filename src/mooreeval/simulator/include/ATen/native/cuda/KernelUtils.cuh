// fastAtomicAdd and index arithmetic of PyTorch's own kernels.
#pragma once

#include <ATen/cuda/Atomic.cuh>

namespace at::native {

__device__ __forceinline__ inline size_t idx(const size_t n, const size_t channels, const size_t height,
                                             const size_t width, const size_t c, const size_t y, const size_t x) {
  return ((n * channels + c) * height + y) * width + x;
}
template <class T, class I>
MOORE_SIM_DEVICE void fastSpecializedAtomicAdd(T* tensor, I index, const I, T value) {
  gpuAtomicAddNoReturn(tensor + index, value);
}
template <class T, class I>
MOORE_SIM_DEVICE void fastAtomicAdd(T* tensor, I index, const I, T value, bool = true) {
  gpuAtomicAddNoReturn(tensor + index, value);
}

}  // namespace at::native
