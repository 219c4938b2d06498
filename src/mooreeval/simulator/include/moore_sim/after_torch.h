// Include after PyTorch's headers and before the candidate's sources: the view that nvcc gives of itself.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <ATen/AccumulateType.h>
#include <ATen/core/TensorAccessor.h>

// What PyTorch's headers declare under nvcc only.
namespace torch::headeronly {
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
}  // namespace torch::headeronly
namespace at {
using torch::headeronly::RestrictPtrTraits;
template <> struct AccumulateTypeDevice<::half, c10::DeviceType::CUDA> { using type = float; };
}  // namespace at

#include "moore_sim/as_nvcc.h"
