// ATen's wrappers of cuBLAS.
#pragma once

#include <ATen/cuda/CUDAContext.h>

namespace at::cuda::blas {
#define MOORE_SIM_BLAS(name) \
  template <class T = void, class... A> MOORE_SIM_UNAVAILABLE("cuBLAS") void name(A&&...);
MOORE_SIM_BLAS(gemm)
MOORE_SIM_BLAS(gemv)
MOORE_SIM_BLAS(bgemm)
MOORE_SIM_BLAS(dot)
MOORE_SIM_BLAS(vdot)
MOORE_SIM_BLAS(scaled_gemm)
MOORE_SIM_BLAS(gemm_and_bias)
#undef MOORE_SIM_BLAS
}  // namespace at::cuda::blas
