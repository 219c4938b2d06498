// For sources that need more of PyTorch's C++ than tensors, on top of with_python.h.
#pragma once
#undef __CUDACC__
#undef __NVCC__
#define MOORE_SIM_WHOLE_TORCH
#include <torch/extension.h>
#define __CUDACC__ 1
#define __NVCC__ 1
