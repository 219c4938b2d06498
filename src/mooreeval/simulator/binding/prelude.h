// What a candidate's sources are compiled behind; precompiled. Python's headers are left out: see bindable.h.
#pragma once
#include "moore_sim/before_torch.h"

#define MOORE_BINDING_NAMES_APART  // torch_front brings them where PyTorch does
#include "bindable.h"
#include "tensor_names.h"

#include "moore_sim/after_torch.h"
