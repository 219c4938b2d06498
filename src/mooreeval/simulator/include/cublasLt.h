// cuBLASLt.
#pragma once

#include "moore_sim/unsupported_api.h"

#include "cublas_v2.h"

MOORE_SIM_UNSUPPORTED_HANDLE("cuBLASLt", cublasLtHandle_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuBLASLt", cublasLtMatmulDesc_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuBLASLt", cublasLtMatrixLayout_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuBLASLt", cublasLtMatmulPreference_t)

MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtCreate)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtDestroy)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtMatmul)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtMatmulDescCreate)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtMatmulDescSetAttribute)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtMatrixLayoutCreate)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtMatmulPreferenceCreate)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuBLASLt", cublasLtMatmulAlgoGetHeuristic)
