// threadIdx, blockIdx, blockDim, gridDim, warpSize.
#pragma once

#include "moore_sim/qualifiers.h"

// Constant from the view of a simulated thread: the run time changes them only between threads, never under one.
// `const` lets g++ keep them in registers and leave out the check of every read. blockDim and gridDim are uint3 here
// (dim3 in CUDA): g++ takes no object with a constructor as read-only.
#define MOORE_SIM_COORDINATE(name, symbol) \
  extern const __thread uint3 name __asm__(symbol) __attribute__((tls_model("initial-exec"), visibility("default")));
MOORE_SIM_COORDINATE(threadIdx, "moore_sim_thread_idx")
MOORE_SIM_COORDINATE(blockIdx, "moore_sim_block_idx")
MOORE_SIM_COORDINATE(blockDim, "moore_sim_block_dim")
MOORE_SIM_COORDINATE(gridDim, "moore_sim_grid_dim")
#undef MOORE_SIM_COORDINATE

static constexpr int warpSize = 32;
