// What ATen/cuda/CUDAContext.h adds.
#pragma once
#include "stream.h"

namespace moore_mini::cuda {
cudaDeviceProp* getCurrentDeviceProperties();
}
#ifndef MOORE_MINI_SHIM
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#endif
