// torch/torch.h for sources that are built against the small tensor header: see toolchains/simulator_mini.py.
#pragma once
#include <moore_mini/names.h>
#include "bindable_names.h"
namespace py = pybind11;
