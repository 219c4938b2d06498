// Loads and stores with cache hints. A CPU takes no hint, so they are plain accesses, made in the candidate's own line.
#pragma once

#include "moore_sim/qualifiers.h"

// CUDA declares them for the arithmetic types, the vector types and half; a template takes the same calls.
#define MOORE_SIM_LOAD(name) \
  template <class T> MOORE_SIM_DEVICE std::remove_cv_t<T> name(T* address) { return *address; }
MOORE_SIM_LOAD(__ldg)
MOORE_SIM_LOAD(__ldca)
MOORE_SIM_LOAD(__ldcg)
MOORE_SIM_LOAD(__ldcs)
MOORE_SIM_LOAD(__ldcv)
MOORE_SIM_LOAD(__ldlu)
#undef MOORE_SIM_LOAD

#define MOORE_SIM_STORE(name) \
  template <class T> MOORE_SIM_DEVICE void name(T* address, std::type_identity_t<T> value) { *address = value; }
MOORE_SIM_STORE(__stwb)
MOORE_SIM_STORE(__stcg)
MOORE_SIM_STORE(__stcs)
MOORE_SIM_STORE(__stwt)
#undef MOORE_SIM_STORE

template <class T> MOORE_SIM_DEVICE void __prefetch_global_l1(const T*) {}
template <class T> MOORE_SIM_DEVICE void __prefetch_global_l2(const T*) {}

// Address-space queries. Device allocations are "global", everything else that a kernel may touch is local or shared.
MOORE_SIM_DEVICE unsigned int __isGlobal(const void* pointer) { return moore_sim::is_device_pointer(pointer); }
template <class T> MOORE_SIM_UNAVAILABLE("__cvta_generic_to_shared (inline PTX)") size_t __cvta_generic_to_shared(T*);
template <class T> MOORE_SIM_UNAVAILABLE("__cvta_generic_to_global (inline PTX)") size_t __cvta_generic_to_global(T*);
