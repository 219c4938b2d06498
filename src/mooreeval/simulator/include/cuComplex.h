// Complex numbers of the C interface.
#pragma once

#include "moore_sim/math.h"
#include "moore_sim/vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define MOORE_SIM_COMPLEX(C, T, suffix, make, hypotenuse) \
  MOORE_SIM_DEVICE C make_##make(T real, T imaginary) { return {real, imaginary}; } \
  MOORE_SIM_DEVICE T cuCreal##suffix(C z) { return z.x; } \
  MOORE_SIM_DEVICE T cuCimag##suffix(C z) { return z.y; } \
  MOORE_SIM_DEVICE C cuConj##suffix(C z) { return {z.x, -z.y}; } \
  MOORE_SIM_DEVICE C cuCadd##suffix(C a, C b) { return {a.x + b.x, a.y + b.y}; } \
  MOORE_SIM_DEVICE C cuCsub##suffix(C a, C b) { return {a.x - b.x, a.y - b.y}; } \
  MOORE_SIM_DEVICE C cuCmul##suffix(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
  MOORE_SIM_DEVICE C cuCdiv##suffix(C a, C b) { \
    const T scale = 1 / (b.x * b.x + b.y * b.y); \
    return {(a.x * b.x + a.y * b.y) * scale, (a.y * b.x - a.x * b.y) * scale}; \
  } \
  MOORE_SIM_DEVICE T cuCabs##suffix(C z) { return hypotenuse(z.x, z.y); }
MOORE_SIM_COMPLEX(cuFloatComplex, float, f, cuFloatComplex, ::hypotf)
MOORE_SIM_COMPLEX(cuDoubleComplex, double, , cuDoubleComplex, ::hypot)
#undef MOORE_SIM_COMPLEX
MOORE_SIM_DEVICE cuComplex make_cuComplex(float real, float imaginary) { return {real, imaginary}; }
