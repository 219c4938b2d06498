// One implementation for the two 16-bit floating types, __half and __nv_bfloat16: formats, rounding, arithmetic.
//
// Sums, products, quotients and roots are computed in float and rounded once more; float carries more than twice the
// digits, so this equals rounding once. Only the fused multiply-add needs care.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "moore_sim/bits.h"
#include "moore_sim/qualifiers.h"
#include "moore_sim/rounding.h"

// PyTorch's builds forbid implicit conversions and operators of CUDA's types by these macros; where they are set, these
// headers do so too.
#if defined(__CUDA_NO_HALF_CONVERSIONS__)
#define MOORE_SIM_HALF_CONVERSIONS false
#else
#define MOORE_SIM_HALF_CONVERSIONS true
#endif
#if defined(__CUDA_NO_HALF_OPERATORS__)
#define MOORE_SIM_HALF_OPERATORS false
#else
#define MOORE_SIM_HALF_OPERATORS true
#endif
#if defined(__CUDA_NO_HALF2_OPERATORS__)
#define MOORE_SIM_HALF2_OPERATORS false
#else
#define MOORE_SIM_HALF2_OPERATORS true
#endif
#if defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define MOORE_SIM_BFLOAT16_CONVERSIONS false
#else
#define MOORE_SIM_BFLOAT16_CONVERSIONS true
#endif
#if defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define MOORE_SIM_BFLOAT16_OPERATORS false
#else
#define MOORE_SIM_BFLOAT16_OPERATORS true
#endif
#if defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define MOORE_SIM_BFLOAT162_OPERATORS false
#else
#define MOORE_SIM_BFLOAT162_OPERATORS true
#endif

MOORE_SIM_HEADERS_BEGIN

// IEEE binary16: 5 bits of exponent, 10 of fraction.
struct Binary16 {
  static constexpr bool CONVERSIONS = MOORE_SIM_HALF_CONVERSIONS;
  static constexpr bool OPERATORS = MOORE_SIM_HALF_OPERATORS;
  static constexpr bool PAIR_OPERATORS = MOORE_SIM_HALF2_OPERATORS;
  static constexpr uint16_t INFINITE = 0x7c00;

  static uint16_t nearest(float value) {
    const uint32_t bits = bits_of<uint32_t>(value), magnitude = bits & 0x7fffffffu;
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    if (magnitude > 0x7f800000u) return 0x7fff;                 // NaN: the hardware gives this one
    if (magnitude >= 0x47800000u) return sign | INFINITE;       // 65536 and more
    if (magnitude < 0x38800000u) {                              // below 2^-14: steps of 2^-24, one unit of 0.5f
      const float shifted = bits_of<float>(magnitude) + 0.5f;
      return sign | static_cast<uint16_t>(bits_of<uint32_t>(shifted) - 0x3f000000u);
    }
    const uint32_t even = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return sign | static_cast<uint16_t>((even - 0x38000000u) >> 13);
  }
  static float widened(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 0x3ffu;
    if (exponent == 31) return bits_of<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent == 0) return std::copysign(static_cast<float>(fraction) * 0x1p-24f, bits_of<float>(sign));
    return bits_of<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
};

// bfloat16: the upper half of a float.
struct Brain16 {
  static constexpr bool CONVERSIONS = MOORE_SIM_BFLOAT16_CONVERSIONS;
  static constexpr bool OPERATORS = MOORE_SIM_BFLOAT16_OPERATORS;
  static constexpr bool PAIR_OPERATORS = MOORE_SIM_BFLOAT162_OPERATORS;
  static constexpr uint16_t INFINITE = 0x7f80;

  static uint16_t nearest(float value) {
    const uint32_t bits = bits_of<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  static float widened(uint16_t bits) { return bits_of<float>(static_cast<uint32_t>(bits) << 16); }
};

// A double as the float that a second rounding to 16 bits cannot get wrong: cut towards zero, and the last bit set when
// something was cut off ("round to odd").
inline float sticky_float(double value) {
  const float cut = narrowed<Round::ZERO>(value);
  const bool exact = static_cast<double>(cut) == value || value != value || std::isinf(value);
  return exact ? cut : bits_of<float>(bits_of<uint32_t>(cut) | 1u);
}
inline double sticky_sum(double a, double b) {
  const double sum = a + b;
  if (lost_by_sum(a, b, sum) == 0 || !std::isfinite(sum)) return sum;
  return bits_of<double>(bits_of<uint64_t>(add<Round::ZERO>(a, b)) | 1u);
}

template <class Format> struct Float16 {
  uint16_t bits;

  Float16() = default;
  struct FromBits {};
  __attribute__((always_inline)) constexpr Float16(uint16_t bits_, FromBits) : bits(bits_) {}
  static constexpr Float16 from_bits(uint16_t bits) { return Float16(bits, FromBits{}); }
  static Float16 of(float value) { return from_bits(Format::nearest(value)); }
  static Float16 of(double value) { return of(sticky_float(value)); }
  template <class I> requires std::is_integral_v<I> static Float16 of(I value) {
    if constexpr (sizeof(I) < 8) return of(static_cast<double>(value));
    const double cut = to_floating<Round::ZERO, double>(value);  // sticky again, now from 64 bits
    const bool exact = static_cast<__int128>(cut) == static_cast<__int128>(value);
    return of(exact ? cut : bits_of<double>(bits_of<uint64_t>(cut) | 1u));
  }
  __attribute__((always_inline)) float value() const { return Format::widened(bits); }

  template <class T> requires(Format::CONVERSIONS && std::is_arithmetic_v<T>)
  __attribute__((always_inline)) Float16(T value) : bits(of(value).bits) {}
  template <class T> requires(Format::CONVERSIONS && std::is_arithmetic_v<T>)
  __attribute__((always_inline)) Float16& operator=(T value) { return *this = of(value); }
  __attribute__((always_inline)) operator float() const requires(Format::CONVERSIONS) { return value(); }

#define MOORE_SIM_OPERATOR(op) \
  friend Float16 operator op(Float16 a, Float16 b) requires(Format::OPERATORS) { return of(a.value() op b.value()); } \
  __attribute__((always_inline)) Float16& operator op##=(Float16 b) requires(Format::OPERATORS) { \
    return *this = of(value() op b.value()); \
  }
  MOORE_SIM_OPERATOR(+)
  MOORE_SIM_OPERATOR(-)
  MOORE_SIM_OPERATOR(*)
  MOORE_SIM_OPERATOR(/)
#undef MOORE_SIM_OPERATOR
#define MOORE_SIM_COMPARISON(op) \
  friend bool operator op(Float16 a, Float16 b) requires(Format::OPERATORS) { return a.value() op b.value(); }
  MOORE_SIM_COMPARISON(==)
  MOORE_SIM_COMPARISON(!=)
  MOORE_SIM_COMPARISON(<)
  MOORE_SIM_COMPARISON(>)
  MOORE_SIM_COMPARISON(<=)
  MOORE_SIM_COMPARISON(>=)
#undef MOORE_SIM_COMPARISON
  friend Float16 operator+(Float16 a) requires(Format::OPERATORS) { return a; }
  friend Float16 operator-(Float16 a) requires(Format::OPERATORS) { return from_bits(a.bits ^ 0x8000u); }
  Float16& operator++() requires(Format::OPERATORS) { return *this = of(value() + 1.0f); }
  Float16& operator--() requires(Format::OPERATORS) { return *this = of(value() - 1.0f); }
  Float16 operator++(int) requires(Format::OPERATORS) { const Float16 old = *this; ++*this; return old; }
  Float16 operator--(int) requires(Format::OPERATORS) { const Float16 old = *this; --*this; return old; }
};

template <class Format> struct alignas(4) Pair16 {
  using Element = Float16<Format>;
  Element x, y;

  Pair16() = default;
  __attribute__((always_inline)) constexpr Pair16(Element x_, Element y_) : x(x_), y(y_) {}

#define MOORE_SIM_OPERATOR(op) \
  friend Pair16 operator op(Pair16 a, Pair16 b) requires(Format::PAIR_OPERATORS) { \
    return {Element::of(a.x.value() op b.x.value()), Element::of(a.y.value() op b.y.value())}; \
  } \
  Pair16& operator op##=(Pair16 b) requires(Format::PAIR_OPERATORS) { return *this = *this op b; }
  MOORE_SIM_OPERATOR(+)
  MOORE_SIM_OPERATOR(-)
  MOORE_SIM_OPERATOR(*)
  MOORE_SIM_OPERATOR(/)
#undef MOORE_SIM_OPERATOR
  friend Pair16 operator-(Pair16 a) requires(Format::PAIR_OPERATORS) {
    return {Element::from_bits(a.x.bits ^ 0x8000u), Element::from_bits(a.y.bits ^ 0x8000u)};
  }
#define MOORE_SIM_COMPARISON(op) \
  friend bool operator op(Pair16 a, Pair16 b) requires(Format::PAIR_OPERATORS) { \
    return (a.x.value() op b.x.value()) && (a.y.value() op b.y.value()); \
  }
  MOORE_SIM_COMPARISON(==)
  MOORE_SIM_COMPARISON(<)
  MOORE_SIM_COMPARISON(>)
  MOORE_SIM_COMPARISON(<=)
  MOORE_SIM_COMPARISON(>=)
#undef MOORE_SIM_COMPARISON
};

// a * b + c rounded once.
template <class H> inline H fused(H a, H b, H c) {
  return H::of(sticky_sum(static_cast<double>(a.value()) * b.value(), c.value()));
}
// The neighbour of the nearest value that the mode asks for.
template <Round mode, class H> inline H converted(float value) {
  const H nearest = H::of(value);
  const float lost = value - nearest.value();
  const bool negative = nearest.bits & 0x8000u;
  if constexpr (mode == Round::NEAREST) return nearest;
  if (!(lost < 0) && !(lost > 0)) return nearest;  // exact, infinite or NaN
  const bool upwards = mode == Round::UP || (mode == Round::ZERO && negative);
  if (mode == Round::ZERO ? (lost > 0) == !negative : (lost > 0) != upwards) return nearest;
  if ((nearest.bits & 0x7fffu) == 0) return H::from_bits(upwards ? 0x0001 : 0x8001);
  return H::from_bits(static_cast<uint16_t>(nearest.bits + (upwards == negative ? -1 : 1)));
}
template <class H> inline H larger(H a, H b, bool keep_nan) {
  const float x = a.value(), y = b.value();
  if (x != x || y != y) return keep_nan || (x != x && y != y) ? H::from_bits(0x7fff) : x != x ? b : a;
  return x < y || (x == y && (a.bits & 0x8000u)) ? b : a;  // of the two zeros the positive one
}
template <class H> inline H smaller(H a, H b, bool keep_nan) {
  const float x = a.value(), y = b.value();
  if (x != x || y != y) return keep_nan || (x != x && y != y) ? H::from_bits(0x7fff) : x != x ? b : a;
  return y < x || (x == y && (b.bits & 0x8000u)) ? b : a;
}
template <class H> inline H clamped(H a) {
  const float x = a.value();
  return H::of(x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f);
}
template <class H> inline bool is_nan(H a) { return a.value() != a.value(); }
template <class H> inline H rectified(H a) { return is_nan(a) || a.value() > 0 ? a : H::of(0.0f); }

MOORE_SIM_HEADERS_END
