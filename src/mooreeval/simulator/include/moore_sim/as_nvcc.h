// The last header before a candidate's sources: the names by which nvcc tells of itself.
#pragma once

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
