// Stands before torch/extension.h: what candidates use of it is in the precompiled header, and the rest (modules, optimisers,
// serialisation) would triple the cost of every build. A source that names such a part gets the whole header.
#ifdef MOORE_SIM_WHOLE_TORCH
#include_next <torch/extension.h>
#endif
#include "bindable_names.h"
namespace py = pybind11;
