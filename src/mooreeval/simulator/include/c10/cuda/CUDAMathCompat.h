// Overloads by type of the functions that PyTorch's device code uses.
#pragma once

#include "moore_sim/device.h"

namespace c10::cuda::compat {

#define MOORE_SIM_COMPAT(name) \
  MOORE_SIM_DEVICE float name(float x) { return ::name##f(x); } \
  MOORE_SIM_DEVICE double name(double x) { return ::name(x); }
MOORE_SIM_COMPAT(ceil)
MOORE_SIM_COMPAT(exp)
MOORE_SIM_COMPAT(floor)
MOORE_SIM_COMPAT(log)
MOORE_SIM_COMPAT(sqrt)
MOORE_SIM_COMPAT(rsqrt)
MOORE_SIM_COMPAT(sin)
MOORE_SIM_COMPAT(cos)
MOORE_SIM_COMPAT(tan)
MOORE_SIM_COMPAT(tanh)
MOORE_SIM_COMPAT(normcdf)
#undef MOORE_SIM_COMPAT
MOORE_SIM_DEVICE float abs(float x) { return ::fabsf(x); }
MOORE_SIM_DEVICE double abs(double x) { return ::fabs(x); }
MOORE_SIM_DEVICE float div(float a, float b) { return a / b; }
MOORE_SIM_DEVICE double div(double a, double b) { return a / b; }
MOORE_SIM_DEVICE float copysign(float x, float y) { return ::copysignf(x, y); }
MOORE_SIM_DEVICE double copysign(double x, double y) { return ::copysign(x, y); }
MOORE_SIM_DEVICE float max(float x, float y) { return ::max(x, y); }
MOORE_SIM_DEVICE double max(double x, double y) { return ::max(x, y); }
MOORE_SIM_DEVICE float min(float x, float y) { return ::min(x, y); }
MOORE_SIM_DEVICE double min(double x, double y) { return ::min(x, y); }
MOORE_SIM_DEVICE float pow(float x, float y) { return ::powf(x, y); }
MOORE_SIM_DEVICE double pow(double x, double y) { return ::pow(x, y); }
MOORE_SIM_DEVICE void sincos(float x, float* sine, float* cosine) { ::sincosf(x, sine, cosine); }
MOORE_SIM_DEVICE void sincos(double x, double* sine, double* cosine) { ::sincos(x, sine, cosine); }

}  // namespace c10::cuda::compat
