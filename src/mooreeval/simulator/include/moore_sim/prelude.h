// What a candidate's sources are compiled behind; made to be precompiled.
#pragma once

#include "moore_sim/before_torch.h"

#include <ATen/ATen.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include "moore_sim/after_torch.h"
