// Include before PyTorch's headers.
//
// PyTorch's headers are read as on a CPU build, except for two: under nvcc, c10::Half and c10::BFloat16 convert from
// and to CUDA's types, and these conversions are members of theirs.
#pragma once

#include <c10/macros/Macros.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <ostream>

#if !defined(__aarch64__)  // there the two headers exchange more than conversions under nvcc
#define __CUDACC__
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#undef __CUDACC__
#endif
