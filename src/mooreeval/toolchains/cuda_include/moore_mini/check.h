// Checks of CUDA's calls, as c10/cuda/CUDAException.h has them.
#pragma once
#include <cuda_runtime.h>

#include "tensor.h"

namespace moore_mini::cuda {
void check(cudaError_t error, const char* file, const char* function, int line);
DeviceIndex current_device();
DeviceIndex device_count();
}  // namespace moore_mini::cuda

#ifndef MOORE_MINI_SHIM
namespace at::cuda {
using namespace ::moore_mini::cuda;
}
namespace c10::cuda {
using namespace ::moore_mini::cuda;
}
#define C10_CUDA_CHECK(EXPR) ::moore_mini::cuda::check((EXPR), __FILE__, __func__, __LINE__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#endif
