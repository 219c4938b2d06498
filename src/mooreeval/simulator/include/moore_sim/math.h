// Mathematical functions of device code: what CUDA has beyond the C library, and its overloads in the global namespace.
// Fast-math intrinsics are computed as exactly as their documented formula allows.
#pragma once

#include <math.h>
#include <stdlib.h>

#include <cmath>

#include "moore_sim/qualifiers.h"
#include "moore_sim/rounding.h"

// ------------------------------------------------------------------------------------------------ min, max
// The same overloads as CUDA's, not a template: what is ambiguous there (max(0, x) with a float x) is ambiguous here.
#define MOORE_SIM_MIN_MAX(R, A, B) \
  MOORE_SIM_DEVICE R min(A a_, B b_) { const R a = static_cast<R>(a_), b = static_cast<R>(b_); return b < a ? b : a; } \
  MOORE_SIM_DEVICE R max(A a_, B b_) { const R a = static_cast<R>(a_), b = static_cast<R>(b_); return a < b ? b : a; }
#define MOORE_SIM_MIN_MAX_INTEGER(S, U) \
  MOORE_SIM_MIN_MAX(S, S, S) MOORE_SIM_MIN_MAX(U, U, U) MOORE_SIM_MIN_MAX(U, S, U) MOORE_SIM_MIN_MAX(U, U, S)
MOORE_SIM_MIN_MAX_INTEGER(int, unsigned int)
MOORE_SIM_MIN_MAX_INTEGER(long, unsigned long)
MOORE_SIM_MIN_MAX_INTEGER(long long, unsigned long long)
#undef MOORE_SIM_MIN_MAX_INTEGER
#undef MOORE_SIM_MIN_MAX
MOORE_SIM_HEADERS_BEGIN
// Of a number and a NaN the number, like fmin and fmax, without a call into the C library.
template <class F> inline F lesser(F a, F b) { return a != a || b < a ? b : a; }
template <class F> inline F greater(F a, F b) { return a != a || a < b ? b : a; }
MOORE_SIM_HEADERS_END
#define MOORE_SIM_MIN_MAX_FLOATING(R, A, B) \
  MOORE_SIM_DEVICE R min(A a, B b) { return moore_sim::lesser<R>(a, b); } \
  MOORE_SIM_DEVICE R max(A a, B b) { return moore_sim::greater<R>(a, b); }
MOORE_SIM_MIN_MAX_FLOATING(float, float, float)
MOORE_SIM_MIN_MAX_FLOATING(double, double, double)
MOORE_SIM_MIN_MAX_FLOATING(double, float, double)
MOORE_SIM_MIN_MAX_FLOATING(double, double, float)
#undef MOORE_SIM_MIN_MAX_FLOATING
MOORE_SIM_DEVICE unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
MOORE_SIM_DEVICE unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
MOORE_SIM_DEVICE long long llmin(long long a, long long b) { return min(a, b); }
MOORE_SIM_DEVICE long long llmax(long long a, long long b) { return max(a, b); }
MOORE_SIM_DEVICE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
MOORE_SIM_DEVICE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// ------------------------------------------------------------------------------------------------ special functions
MOORE_SIM_HEADERS_BEGIN

// Inverse of erfc on (0, 2): a rough start, then Halley's steps on erfc itself, whose error is cubed by each.
inline double inverse_erfc(double y) {
  if (y <= 0 || y >= 2) return y == 0 ? HUGE_VAL : y == 2 ? -HUGE_VAL : NAN;
  const double tail = y < 1 ? y : 2 - y;
  const double t = std::sqrt(-2 * std::log(tail / 2));
  double x = 0.70711 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
  for (int i = 0; i < 4; ++i) {
    const double error = std::erfc(x) - tail;
    x += error / (1.12837916709551257 * std::exp(-x * x) - x * error);
  }
  return y < 1 ? x : -x;
}
inline double inverse_erf(double y) {
  if (std::fabs(y) >= 0.5) return y < 0 ? -inverse_erfc(1 + y) : inverse_erfc(1 - y);
  double x = y * 0.886226925452758;  // near zero 1 - y would cancel, so the steps are made on erf
  for (int i = 0; i < 4; ++i) {
    const double error = std::erf(x) - y;
    x -= error / (1.12837916709551257 * std::exp(-x * x) + x * error);
  }
  return x;
}
inline double scaled_erfc(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double inverse_square = 1 / (x * x);  // asymptotic: erfc itself underflows here
  return 0.564189583547756287 / x * (1 - inverse_square * (0.5 - inverse_square * 0.75));
}
inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.707106781186547524); }
inline double normal_cdf_inverse(double p) { return -1.41421356237309505 * inverse_erfc(2 * p); }
// sin and cos of pi * x; the remainder is exact, so integers and halves give exact zeros.
inline double sine_pi(double x) {
  const double r = std::remainder(x, 2.0);
  if (std::fabs(r) == 1.0) return std::copysign(0.0, x);
  return std::sin(3.14159265358979323846 * (std::fabs(r) > 0.5 ? std::copysign(1.0, r) - r : r));
}
inline double cosine_pi(double x) {
  const double r = std::fabs(std::remainder(x, 2.0));
  return r == 0.5 ? 0.0 : std::cos(3.14159265358979323846 * r);
}

MOORE_SIM_HEADERS_END

// name(double), name(float) and namef(float) of a formula in double.
#define MOORE_SIM_UNARY(name, ...) \
  MOORE_SIM_DEVICE double name(double x) { return __VA_ARGS__; } \
  MOORE_SIM_DEVICE float name##f(float value) { const double x = value; return static_cast<float>(__VA_ARGS__); } \
  MOORE_SIM_DEVICE float name(float value) { return name##f(value); }
MOORE_SIM_UNARY(rsqrt, 1.0 / std::sqrt(x))
MOORE_SIM_UNARY(rcbrt, 1.0 / std::cbrt(x))
MOORE_SIM_UNARY(sinpi, moore_sim::sine_pi(x))
MOORE_SIM_UNARY(cospi, moore_sim::cosine_pi(x))
MOORE_SIM_UNARY(normcdf, moore_sim::normal_cdf(x))
MOORE_SIM_UNARY(normcdfinv, moore_sim::normal_cdf_inverse(x))
MOORE_SIM_UNARY(erfinv, moore_sim::inverse_erf(x))
MOORE_SIM_UNARY(erfcinv, moore_sim::inverse_erfc(x))
MOORE_SIM_UNARY(erfcx, moore_sim::scaled_erfc(x))
MOORE_SIM_UNARY(cyl_bessel_i0, moore_sim::bessel_i(0, x))
MOORE_SIM_UNARY(cyl_bessel_i1, moore_sim::bessel_i(1, x))
#undef MOORE_SIM_UNARY

#define MOORE_SIM_NORM(name, parameters, parameters_float, ...) \
  MOORE_SIM_DEVICE double name parameters { return __VA_ARGS__; } \
  MOORE_SIM_DEVICE float name##f parameters_float { return static_cast<float>(__VA_ARGS__); }
MOORE_SIM_NORM(rhypot, (double a, double b), (float a, float b), 1.0 / std::hypot(double(a), double(b)))
MOORE_SIM_NORM(norm3d, (double a, double b, double c), (float a, float b, float c),
               std::hypot(double(a), double(b), double(c)))
MOORE_SIM_NORM(rnorm3d, (double a, double b, double c), (float a, float b, float c),
               1.0 / std::hypot(double(a), double(b), double(c)))
MOORE_SIM_NORM(norm4d, (double a, double b, double c, double d), (float a, float b, float c, float d),
               std::hypot(std::hypot(double(a), double(b)), double(c), double(d)))
MOORE_SIM_NORM(rnorm4d, (double a, double b, double c, double d), (float a, float b, float c, float d),
               1.0 / std::hypot(std::hypot(double(a), double(b)), double(c), double(d)))
#undef MOORE_SIM_NORM

// Overloads for float of names that the C library has for double only.
MOORE_SIM_DEVICE float exp10(float x) { return ::exp10f(x); }
MOORE_SIM_DEVICE void sincos(float x, float* sine, float* cosine) { *sine = ::sinf(x), *cosine = ::cosf(x); }
MOORE_SIM_DEVICE void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }
MOORE_SIM_DEVICE void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
MOORE_SIM_DEVICE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
MOORE_SIM_DEVICE float fdividef(float a, float b) { return a / b; }
MOORE_SIM_DEVICE float fdivide(float a, float b) { return a / b; }
MOORE_SIM_DEVICE double fdivide(double a, double b) { return a / b; }

// ------------------------------------------------------------------------------------------------ fast-math intrinsics
// The C library declares most of these names without ever defining them, so they are completed as what it declared.
#define MOORE_SIM_FAST(name, parameters, ...) \
  extern "C" float name parameters noexcept; \
  extern "C" inline __attribute__((always_inline)) float name parameters noexcept { return __VA_ARGS__; }
MOORE_SIM_FAST(__expf, (float x), ::expf(x))
MOORE_SIM_FAST(__exp10f, (float x), ::exp10f(x))
MOORE_SIM_FAST(__logf, (float x), ::logf(x))
MOORE_SIM_FAST(__log2f, (float x), ::log2f(x))
MOORE_SIM_FAST(__log10f, (float x), ::log10f(x))
MOORE_SIM_FAST(__sinf, (float x), ::sinf(x))
MOORE_SIM_FAST(__cosf, (float x), ::cosf(x))
MOORE_SIM_FAST(__tanf, (float x), ::tanf(x))
MOORE_SIM_FAST(__tanhf, (float x), ::tanhf(x))
// By its documented formula: a negative base gives NaN, which powf would hide.
MOORE_SIM_FAST(__powf, (float x, float y), ::exp2f(y * ::log2f(x)))
#undef MOORE_SIM_FAST
extern "C" void __sincosf(float x, float* sine, float* cosine) noexcept;
extern "C" inline __attribute__((always_inline)) void __sincosf(float x, float* sine, float* cosine) noexcept {
  *sine = ::sinf(x), *cosine = ::cosf(x);
}
MOORE_SIM_DEVICE float __fdividef(float a, float b) { return a / b; }
// NaN becomes 0, as the hardware's .sat does.
MOORE_SIM_DEVICE float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }
