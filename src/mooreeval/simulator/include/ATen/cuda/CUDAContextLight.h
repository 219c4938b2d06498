// The device and its libraries' handles, as ATen names them.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <cusparse.h>

#include <cstdint>

#include "moore_sim/runtime_api.h"

namespace at::cuda {

C10_CUDA_API inline int64_t getNumGPUs() { return c10::cuda::device_count(); }
C10_CUDA_API inline bool is_available() { return true; }
C10_CUDA_API inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
  static cudaDeviceProp* properties = [] {
    static cudaDeviceProp p;
    C10_CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
    return &p;
  }();
  return properties;
}
C10_CUDA_API inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(0); }
// PyTorch's own headers declare it, for every kind of build.
__attribute__((visibility("hidden"))) inline int warp_size() { return 32; }
C10_CUDA_API inline bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex) { return false; }
C10_CUDA_API inline c10::Allocator* getCUDADeviceAllocator() { return c10::GetAllocator(c10::DeviceType::CUDA); }

template <class... A> MOORE_SIM_UNAVAILABLE("cuBLAS") void* getCurrentCUDABlasHandle(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("cuBLAS") void* getCurrentCUDABlasLtHandle(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("cuSPARSE") void* getCurrentCUDASparseHandle(A&&...);
template <class... A> MOORE_SIM_UNAVAILABLE("cuSOLVER") void* getCurrentCUDASolverDnHandle(A&&...);

}  // namespace at::cuda
