// Memory of loaded modules, as kernels may see it: __device__ and __constant__ variables, literals, tables.
#pragma once
#include "arena.h"

namespace moore_sim {

enum class ModuleMemory { NONE, READ_ONLY, WRITABLE };
// What the loaded modules have at `a`. Writable memory counts for the module that holds `code` alone: no kernel has
// business in another module's variables. For WRITABLE, `region` is that module's data, for the race detector.
ModuleMemory module_memory_at(Address a, Address code, Region** region);

}  // namespace moore_sim
