// The part of torch/extension.h that extensions for kernels use, all of it in the prelude. The whole of it (modules,
// optimizers, data loaders) costs many seconds of compiler time; a unit that needs it defines MOORE_SIM_WHOLE_TORCH.
#pragma once

#ifdef MOORE_SIM_WHOLE_TORCH
#include_next <torch/extension.h>
#else
#include <torch/csrc/utils/pybind.h>
#include <torch/cuda.h>
#include <torch/types.h>
#endif
