// Arithmetic and conversions with an explicit rounding mode (_rn nearest, _rz to zero, _rd down, _ru up).
//
// Every operation is computed to nearest together with the sign of what rounding lost, and moved by one unit when the
// mode asks for the other neighbour. fesetround would be slower, and g++ does not respect it.
#pragma once

#include <cmath>
#include <limits>

#include "moore_sim/qualifiers.h"

MOORE_SIM_HEADERS_BEGIN

enum class Round { NEAREST, ZERO, DOWN, UP };

// `lost`: exact value minus `nearest`; only its sign matters. A NaN (from an overflow) moves nothing.
template <Round mode, class F> inline F rounded(F nearest, F lost) {
  constexpr F infinity = std::numeric_limits<F>::infinity();
  if constexpr (mode == Round::DOWN) return lost < 0 ? std::nextafter(nearest, -infinity) : nearest;
  if constexpr (mode == Round::UP) return lost > 0 ? std::nextafter(nearest, infinity) : nearest;
  if constexpr (mode == Round::ZERO) {
    const bool away = (nearest > 0 && lost < 0) || (nearest < 0 && lost > 0);
    return away ? std::nextafter(nearest, F(0)) : nearest;
  }
  return nearest;
}

// Knuth's two-sum: what a + b loses to rounding, exactly.
template <class F> inline F lost_by_sum(F a, F b, F sum) {
  const F b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}
template <Round mode, class F> inline F add(F a, F b) {
  const F sum = a + b;
  return rounded<mode>(sum, lost_by_sum(a, b, sum));
}
template <Round mode, class F> inline F multiply(F a, F b) {
  const F product = a * b;
  return rounded<mode>(product, std::fma(a, b, -product));
}
template <Round mode, class F> inline F divide(F a, F b) {
  const F quotient = a / b;
  return rounded<mode>(quotient, std::copysign(F(1), b) * std::fma(-quotient, b, a));
}
template <Round mode, class F> inline F square_root(F a) {
  const F root = std::sqrt(a);
  return rounded<mode>(root, std::fma(-root, root, a));
}
template <Round mode, class F> inline F multiply_add(F a, F b, F c) {
  const F result = std::fma(a, b, c);
  if constexpr (mode == Round::NEAREST) return result;
  const F product = a * b, sum = product + c;
  return rounded<mode>(result, ((sum - result) + lost_by_sum(product, c, sum)) + std::fma(a, b, -product));
}

// A floating number to an integer as the hardware converts: out of range saturates, NaN gives 0 in 32 bits and the top
// bit in 64.
template <class I, class F> inline I saturated(F whole) {
  if (whole != whole) return sizeof(I) == 8 ? static_cast<I>(1ull << 63) : I(0);
  constexpr F beyond = static_cast<F>(std::numeric_limits<I>::max() / 2 + 1) * 2;
  if (whole >= beyond) return std::numeric_limits<I>::max();
  if (whole <= static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  return static_cast<I>(whole);
}
template <Round mode, class I, class F> inline I to_integer(F x) {
  if constexpr (mode == Round::NEAREST) return saturated<I>(std::nearbyint(x));
  if constexpr (mode == Round::ZERO) return saturated<I>(std::trunc(x));
  if constexpr (mode == Round::DOWN) return saturated<I>(std::floor(x));
  return saturated<I>(std::ceil(x));
}
template <Round mode, class F, class I> inline F to_floating(I x) {
  const F nearest = static_cast<F>(x);
  return rounded<mode>(nearest, static_cast<F>(static_cast<__int128>(x) - static_cast<__int128>(nearest)));
}
template <Round mode> inline float narrowed(double x) {
  const float nearest = static_cast<float>(x);
  const double lost = x - static_cast<double>(nearest);
  return rounded<mode>(nearest, lost > 0 ? 1.0f : lost < 0 ? -1.0f : 0.0f);
}

MOORE_SIM_HEADERS_END

// One intrinsic in its four modes. In `expression`, MODE is the mode.
#define MOORE_SIM_ROUNDED(result, name, parameters, ...) \
  MOORE_SIM_DEVICE result name##rn parameters { constexpr auto MODE = moore_sim::Round::NEAREST; return __VA_ARGS__; } \
  MOORE_SIM_DEVICE result name##rz parameters { constexpr auto MODE = moore_sim::Round::ZERO; return __VA_ARGS__; } \
  MOORE_SIM_DEVICE result name##rd parameters { constexpr auto MODE = moore_sim::Round::DOWN; return __VA_ARGS__; } \
  MOORE_SIM_DEVICE result name##ru parameters { constexpr auto MODE = moore_sim::Round::UP; return __VA_ARGS__; }

MOORE_SIM_ROUNDED(int, __float2int_, (float x), moore_sim::to_integer<MODE, int>(x))
MOORE_SIM_ROUNDED(unsigned int, __float2uint_, (float x), moore_sim::to_integer<MODE, unsigned int>(x))
MOORE_SIM_ROUNDED(long long, __float2ll_, (float x), moore_sim::to_integer<MODE, long long>(x))
MOORE_SIM_ROUNDED(unsigned long long, __float2ull_, (float x), moore_sim::to_integer<MODE, unsigned long long>(x))
MOORE_SIM_ROUNDED(int, __double2int_, (double x), moore_sim::to_integer<MODE, int>(x))
MOORE_SIM_ROUNDED(unsigned int, __double2uint_, (double x), moore_sim::to_integer<MODE, unsigned int>(x))
MOORE_SIM_ROUNDED(long long, __double2ll_, (double x), moore_sim::to_integer<MODE, long long>(x))
MOORE_SIM_ROUNDED(unsigned long long, __double2ull_, (double x), moore_sim::to_integer<MODE, unsigned long long>(x))

MOORE_SIM_ROUNDED(float, __int2float_, (int x), moore_sim::to_floating<MODE, float>(x))
MOORE_SIM_ROUNDED(float, __uint2float_, (unsigned int x), moore_sim::to_floating<MODE, float>(x))
MOORE_SIM_ROUNDED(float, __ll2float_, (long long x), moore_sim::to_floating<MODE, float>(x))
MOORE_SIM_ROUNDED(float, __ull2float_, (unsigned long long x), moore_sim::to_floating<MODE, float>(x))
MOORE_SIM_ROUNDED(double, __ll2double_, (long long x), moore_sim::to_floating<MODE, double>(x))
MOORE_SIM_ROUNDED(double, __ull2double_, (unsigned long long x), moore_sim::to_floating<MODE, double>(x))
MOORE_SIM_ROUNDED(float, __double2float_, (double x), moore_sim::narrowed<MODE>(x))
MOORE_SIM_DEVICE double __int2double_rn(int x) { return x; }
MOORE_SIM_DEVICE double __uint2double_rn(unsigned int x) { return x; }

MOORE_SIM_ROUNDED(float, __fadd_, (float a, float b), moore_sim::add<MODE>(a, b))
MOORE_SIM_ROUNDED(float, __fsub_, (float a, float b), moore_sim::add<MODE>(a, -b))
MOORE_SIM_ROUNDED(float, __fmul_, (float a, float b), moore_sim::multiply<MODE>(a, b))
MOORE_SIM_ROUNDED(float, __fdiv_, (float a, float b), moore_sim::divide<MODE>(a, b))
MOORE_SIM_ROUNDED(float, __frcp_, (float a), moore_sim::divide<MODE>(1.0f, a))
MOORE_SIM_ROUNDED(float, __fsqrt_, (float a), moore_sim::square_root<MODE>(a))
MOORE_SIM_ROUNDED(float, __fmaf_, (float a, float b, float c), moore_sim::multiply_add<MODE>(a, b, c))
MOORE_SIM_ROUNDED(float, __fmaf_ieee_, (float a, float b, float c), moore_sim::multiply_add<MODE>(a, b, c))
MOORE_SIM_ROUNDED(double, __dadd_, (double a, double b), moore_sim::add<MODE>(a, b))
MOORE_SIM_ROUNDED(double, __dsub_, (double a, double b), moore_sim::add<MODE>(a, -b))
MOORE_SIM_ROUNDED(double, __dmul_, (double a, double b), moore_sim::multiply<MODE>(a, b))
MOORE_SIM_ROUNDED(double, __ddiv_, (double a, double b), moore_sim::divide<MODE>(a, b))
MOORE_SIM_ROUNDED(double, __drcp_, (double a), moore_sim::divide<MODE>(1.0, a))
MOORE_SIM_ROUNDED(double, __dsqrt_, (double a), moore_sim::square_root<MODE>(a))
MOORE_SIM_ROUNDED(double, __fma_, (double a, double b, double c), moore_sim::multiply_add<MODE>(a, b, c))
MOORE_SIM_DEVICE float __frsqrt_rn(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }

#undef MOORE_SIM_ROUNDED
