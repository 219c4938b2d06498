// Random numbers in kernels through PyTorch's generator are out of scope: their sequence is the GPU's own.
#pragma once

#include <ATen/cuda/CUDAContext.h>

namespace at {
struct MOORE_SIM_UNAVAILABLE("random numbers from PyTorch's CUDA generator") CUDAGeneratorImpl;
struct MOORE_SIM_UNAVAILABLE("random numbers from PyTorch's CUDA generator") PhiloxCudaState;
namespace cuda::detail {
template <class... A>
MOORE_SIM_UNAVAILABLE("random numbers from PyTorch's CUDA generator") void* getDefaultCUDAGenerator(A&&...);
}
}  // namespace at
