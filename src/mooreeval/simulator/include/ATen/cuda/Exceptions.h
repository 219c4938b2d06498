// CUDA errors become exceptions. The library checks exist for calls that are out of scope anyway.
#pragma once

#include <ATen/Context.h>
#include <c10/cuda/CUDAException.h>
#include <c10/macros/Export.h>
#include <c10/util/Exception.h>
#include <cublas_v2.h>
#include <cusparse.h>

#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#define TORCH_CUDABLAS_CHECK(EXPR) TORCH_CHECK((EXPR) == 0, "CUDA error when calling `" #EXPR "`")
#define TORCH_CUDASPARSE_CHECK(EXPR) TORCH_CHECK((EXPR) == 0, "CUDA error when calling `" #EXPR "`")
#define TORCH_CUSOLVER_CHECK(EXPR) TORCH_CHECK((EXPR) == 0, "CUDA error when calling `" #EXPR "`")
#define AT_CUDNN_CHECK(EXPR, ...) TORCH_CHECK((EXPR) == 0, "cuDNN error when calling `" #EXPR "`")
#define AT_CUDA_DRIVER_CHECK(EXPR) TORCH_CHECK((EXPR) == CUDA_SUCCESS, "CUDA driver error when calling `" #EXPR "`")
