// For sources that bind themselves: pybind11 on top of the precompiled header, read as the host's compiler would.
#pragma once
#undef __CUDACC__
#undef __NVCC__
#undef PYBIND11_MODULE
#define py moore_py  // the alias itself comes with the header that brings it in PyTorch, see torch_front
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#undef py
#define __CUDACC__ 1
#define __NVCC__ 1
