// For sources that need more of PyTorch's C++ than tensors, on top of with_python.h.
#pragma once
#undef __CUDACC__
#undef __NVCC__
#define MOORE_SIM_WHOLE_TORCH
#define py moore_py  // as in with_python.h
#include <torch/extension.h>
#undef py
#define __CUDACC__ 1
#define __NVCC__ 1
