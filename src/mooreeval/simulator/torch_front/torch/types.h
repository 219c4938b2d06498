// Stands before torch/types.h: what candidates use of it is in the precompiled header, see tensor_names.h.
#ifdef MOORE_SIM_WHOLE_TORCH
#include_next <torch/types.h>
#endif
