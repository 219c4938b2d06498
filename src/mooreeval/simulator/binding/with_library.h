// For sources that register operators, read as the host's compiler would.
#pragma once
#undef __CUDACC__
#undef __NVCC__
#include <torch/library.h>
#define __CUDACC__ 1
#define __NVCC__ 1
