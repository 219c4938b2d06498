// cuda.h. Real code includes it out of habit; calls into the driver API are out of scope.
#pragma once

#include "moore_sim/runtime_api.h"

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_UNKNOWN = 999,
} CUresult;

#define MOORE_SIM_DRIVER(name) MOORE_SIM_UNSUPPORTED_FUNCTION("CUDA driver API", name)
MOORE_SIM_UNSUPPORTED_HANDLE("CUDA driver API", CUmodule)
MOORE_SIM_UNSUPPORTED_HANDLE("CUDA driver API", CUfunction)
MOORE_SIM_UNSUPPORTED_HANDLE("TMA", CUtensorMap)
MOORE_SIM_DRIVER(cuInit)
MOORE_SIM_DRIVER(cuDeviceGet)
MOORE_SIM_DRIVER(cuDeviceGetCount)
MOORE_SIM_DRIVER(cuCtxCreate)
MOORE_SIM_DRIVER(cuCtxSynchronize)
MOORE_SIM_DRIVER(cuModuleLoad)
MOORE_SIM_DRIVER(cuModuleLoadData)
MOORE_SIM_DRIVER(cuModuleGetFunction)
MOORE_SIM_DRIVER(cuLaunchKernel)
MOORE_SIM_DRIVER(cuMemAlloc)
MOORE_SIM_DRIVER(cuMemFree)
MOORE_SIM_DRIVER(cuMemcpyHtoD)
MOORE_SIM_DRIVER(cuMemcpyDtoH)
MOORE_SIM_DRIVER(cuGetErrorString)
MOORE_SIM_DRIVER(cuTensorMapEncodeTiled)
#undef MOORE_SIM_DRIVER
