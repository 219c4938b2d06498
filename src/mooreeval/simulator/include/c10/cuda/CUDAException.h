// CUDA errors become exceptions.
#pragma once

#include <c10/cuda/CUDAMacros.h>
#include <c10/util/Exception.h>

#include "moore_sim/driver_api.h"

namespace c10 {
class C10_CUDA_API CUDAError : public c10::Error {
  using Error::Error;
};

namespace cuda {
C10_CUDA_API inline void moore_check(cudaError_t error, const char* file, const char* function, uint32_t line) {
  if (C10_LIKELY(error == cudaSuccess)) return;
  cudaGetLastError();  // told once, as an exception
  throw CUDAError({function, file, line}, c10::str("CUDA error: ", cudaGetErrorString(error)));
}
}  // namespace cuda
}  // namespace c10

#define C10_CUDA_CHECK(EXPR) ::c10::cuda::moore_check((EXPR), __FILE__, __func__, static_cast<uint32_t>(__LINE__))
#define C10_CUDA_CHECK_WARN(EXPR) \
  do { \
    const cudaError_t moore_error = (EXPR); \
    if (C10_UNLIKELY(moore_error != cudaSuccess)) TORCH_WARN("CUDA warning: ", cudaGetErrorString(moore_error)); \
  } while (0)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_IGNORE_ERROR(EXPR) \
  do { \
    if (C10_UNLIKELY((EXPR) != cudaSuccess)) (void)cudaGetLastError(); \
  } while (0)
#define C10_CUDA_CLEAR_ERROR() (void)cudaGetLastError()
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
