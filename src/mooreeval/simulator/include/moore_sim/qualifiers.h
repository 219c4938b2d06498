// CUDA's function and variable qualifiers. On a CPU every function may run anywhere, so most of them vanish.
#pragma once

#include "moore_sim/runtime.h"

// Device functions of these headers. They are inlined even into unoptimised code: a memory access, barrier or shuffle
// inside them must be seen at the candidate's own line, not at a line of ours.
#define MOORE_SIM_DEVICE static inline __attribute__((always_inline))
// Bodies that implement an operation of the hardware: their accesses are not the candidate's, nobody watches them.
// The compiler never inlines an unwatched function into a watched one, so these are real calls.
#define MOORE_SIM_UNWATCHED static inline __attribute__((no_sanitize("thread")))
#define MOORE_SIM_HOST static inline


// Helpers of the headers live in moore_sim as well, hidden: no symbol of theirs may meet one of the run time's, or of
// another candidate's extension.
#define MOORE_SIM_HEADERS_BEGIN \
  namespace moore_sim { inline namespace headers __attribute__((visibility("hidden"))) {
#define MOORE_SIM_HEADERS_END } }

// A name that exists in CUDA and not here: harmless to declare, an error to use.
#define MOORE_SIM_UNAVAILABLE(feature) __attribute__((unavailable("MOORE_SIM_UNSUPPORTED: " feature)))

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __nv_pure__
#define __device_builtin__
#define __tile_static__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
// No `inline` in it: real code writes `inline __forceinline__`, and a doubled `inline` is an error for g++.
#define __forceinline__ __attribute__((always_inline))
#define __inline_hint__
#define __cluster_dims__(...) _Pragma("GCC error \"MOORE_SIM_UNSUPPORTED: thread block clusters\"")

// The rewriter turns every __shared__ declaration into a reference to block memory. One that it missed would silently
// become memory of a single thread, so it is an error.
#define __shared__ _Pragma("GCC error \"MOORE_SIM_UNSUPPORTED: this form of __shared__ declaration\"")

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
#define CUDAAPI
#define CUDA_CB

#pragma GCC diagnostic ignored "-Wattributes"        // always_inline without inline, see __forceinline__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"   // #pragma unroll
