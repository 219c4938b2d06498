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

// From here on a candidate finds what it would find under nvcc for an A100, and PyTorch's headers, all read by now, are
// past their tests of the same names.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __CUDA_ARCH__ 800
#define __CUDA_ARCH_LIST__ 800
#define __NVCC_DIAG_PRAGMA_SUPPORT__ 1
