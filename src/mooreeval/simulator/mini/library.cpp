// libmoore_mini.so: what the small tensor header declares, by PyTorch's own operators, and the bindings of functions that
// take its tensors. Built once for each PyTorch; "CUDA" is the simulated device, as in a candidate's sources.
#define MOORE_MINI_SHIM
#define MOORE_MINI_SHARED
#define MOORE_MINI_HALVES
#include <cuda_runtime.h>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#pragma GCC visibility push(default)  // candidates link to what these headers declare, and to nothing else
#include <moore_mini/context.h>
#include <moore_mini/guard.h>
#pragma GCC visibility pop

#include <moore_mini/casters.h>

#define MOORE_BINDING_TENSORS moore_mini
#include "binding.cpp"

#include <moore_mini/shim.cpp>
