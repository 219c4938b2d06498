// Integer intrinsics: reinterpretation, counting, shuffling of bits, wide products, dot products of bytes.
#pragma once

#include <climits>

#include "moore_sim/qualifiers.h"
#include "moore_sim/vector_types.h"

MOORE_SIM_HEADERS_BEGIN
template <class To, class From> __attribute__((always_inline)) inline To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}
MOORE_SIM_HEADERS_END

// ------------------------------------------------------------------------------------------------ reinterpretation
MOORE_SIM_DEVICE int __float_as_int(float x) { return moore_sim::bits_of<int>(x); }
MOORE_SIM_DEVICE unsigned int __float_as_uint(float x) { return moore_sim::bits_of<unsigned int>(x); }
MOORE_SIM_DEVICE float __int_as_float(int x) { return moore_sim::bits_of<float>(x); }
MOORE_SIM_DEVICE float __uint_as_float(unsigned int x) { return moore_sim::bits_of<float>(x); }
MOORE_SIM_DEVICE long long __double_as_longlong(double x) { return moore_sim::bits_of<long long>(x); }
MOORE_SIM_DEVICE double __longlong_as_double(long long x) { return moore_sim::bits_of<double>(x); }
MOORE_SIM_DEVICE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
MOORE_SIM_DEVICE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
MOORE_SIM_DEVICE double __hiloint2double(int hi, int lo) {
  return __longlong_as_double(static_cast<long long>(
      (static_cast<unsigned long long>(static_cast<unsigned int>(hi)) << 32) | static_cast<unsigned int>(lo)));
}

// ------------------------------------------------------------------------------------------------ counting, reversing
MOORE_SIM_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
MOORE_SIM_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
MOORE_SIM_DEVICE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned int>(x)) : 32; }
MOORE_SIM_DEVICE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
MOORE_SIM_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
MOORE_SIM_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
MOORE_SIM_DEVICE unsigned int __brev(unsigned int x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(x);
}
MOORE_SIM_DEVICE unsigned long long __brevll(unsigned long long x) {
  return (static_cast<unsigned long long>(__brev(static_cast<unsigned int>(x))) << 32) |
         __brev(static_cast<unsigned int>(x >> 32));
}
// Position of the offset-th set bit counted from `base`: upwards when offset is positive, downwards when negative.
MOORE_SIM_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  if (offset == 0) return (base < 32 && (mask >> base) & 1u) ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step)
    if ((mask >> bit) & 1u && --left == 0) return static_cast<unsigned int>(bit);
  return 0xffffffffu;
}

// ------------------------------------------------------------------------------------------------ moving bytes
MOORE_SIM_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const unsigned long long bytes = (static_cast<unsigned long long>(y) << 32) | x;
  unsigned int result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned int choice = (selector >> (4 * i)) & 0xfu;
    unsigned int byte = static_cast<unsigned int>(bytes >> (8 * (choice & 7u))) & 0xffu;
    if (choice & 8u) byte = byte & 0x80u ? 0xffu : 0u;  // bit 3 of a selector replicates the sign
    result |= byte << (8 * i);
  }
  return result;
}
MOORE_SIM_DEVICE unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift) {
  const unsigned long long both = (static_cast<unsigned long long>(hi) << 32) | lo;
  return static_cast<unsigned int>((both << (shift & 31u)) >> 32);
}
MOORE_SIM_DEVICE unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) {
  const unsigned long long both = (static_cast<unsigned long long>(hi) << 32) | lo;
  return static_cast<unsigned int>(both >> (shift & 31u));
}
MOORE_SIM_DEVICE unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32u ? lo : __funnelshift_l(lo, hi, shift);
}
MOORE_SIM_DEVICE unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int shift) {
  return shift >= 32u ? hi : __funnelshift_r(lo, hi, shift);
}

// ------------------------------------------------------------------------------------------------ products, averages
MOORE_SIM_DEVICE int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
MOORE_SIM_DEVICE unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) * b) >> 32);
}
MOORE_SIM_DEVICE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
MOORE_SIM_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
MOORE_SIM_DEVICE unsigned int __umul24(unsigned int a, unsigned int b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}
MOORE_SIM_DEVICE int __mul24(int a, int b) {
  const int a24 = static_cast<int>(static_cast<unsigned int>(a) << 8) >> 8;
  const int b24 = static_cast<int>(static_cast<unsigned int>(b) << 8) >> 8;
  return static_cast<int>(static_cast<unsigned int>(a24) * static_cast<unsigned int>(b24));
}
MOORE_SIM_DEVICE int mulhi(int a, int b) { return __mulhi(a, b); }
MOORE_SIM_DEVICE unsigned int mulhi(unsigned int a, unsigned int b) { return __umulhi(a, b); }
MOORE_SIM_DEVICE int mul24(int a, int b) { return __mul24(a, b); }
MOORE_SIM_DEVICE unsigned int umul24(unsigned int a, unsigned int b) { return __umul24(a, b); }
MOORE_SIM_DEVICE unsigned int __sad(int a, int b, unsigned int c) {
  return c + (a > b ? static_cast<unsigned int>(a) - static_cast<unsigned int>(b)
                    : static_cast<unsigned int>(b) - static_cast<unsigned int>(a));
}
MOORE_SIM_DEVICE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) {
  return c + (a > b ? a - b : b - a);
}
MOORE_SIM_DEVICE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
MOORE_SIM_DEVICE int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
MOORE_SIM_DEVICE unsigned int __uhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b) >> 1);
}
MOORE_SIM_DEVICE unsigned int __urhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

// ------------------------------------------------------------------------------------------------ dot products
MOORE_SIM_HEADERS_BEGIN
// Sum over four bytes of a times four bytes of b, modulo 2^32.
template <class Byte> inline unsigned int dot4(unsigned int a, unsigned int b, unsigned int sum) {
  for (int i = 0; i < 32; i += 8)
    sum += static_cast<unsigned int>(static_cast<Byte>(a >> i) * static_cast<Byte>(b >> i));
  return sum;
}
// Two 16-bit words of a times two neighbouring bytes of b, the first of them at bit `first`.
template <class Word, class Byte, int first>
inline unsigned int dot2(unsigned int a, unsigned int b, unsigned int sum) {
  for (int i = 0; i < 2; ++i)
    sum += static_cast<unsigned int>(static_cast<Word>(a >> (16 * i)) * static_cast<Byte>(b >> (first + 8 * i)));
  return sum;
}
MOORE_SIM_HEADERS_END

#define MOORE_SIM_DOT(name, signed_dot, unsigned_dot) \
  MOORE_SIM_DEVICE int name(int a, int b, int c) { \
    return static_cast<int>(moore_sim::signed_dot(unsigned(a), unsigned(b), unsigned(c))); \
  } \
  MOORE_SIM_DEVICE unsigned int name(unsigned int a, unsigned int b, unsigned int c) { \
    return moore_sim::unsigned_dot(a, b, c); \
  }
#define MOORE_SIM_COMMA ,
MOORE_SIM_DOT(__dp4a, dot4<signed char>, dot4<unsigned char>)
MOORE_SIM_DOT(__dp2a_lo, dot2<short MOORE_SIM_COMMA signed char MOORE_SIM_COMMA 0>,
              dot2<unsigned short MOORE_SIM_COMMA unsigned char MOORE_SIM_COMMA 0>)
MOORE_SIM_DOT(__dp2a_hi, dot2<short MOORE_SIM_COMMA signed char MOORE_SIM_COMMA 16>,
              dot2<unsigned short MOORE_SIM_COMMA unsigned char MOORE_SIM_COMMA 16>)
#undef MOORE_SIM_DOT
#undef MOORE_SIM_COMMA
MOORE_SIM_DEVICE int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(moore_sim::bits_of<int>(a), moore_sim::bits_of<int>(b), c);
}
MOORE_SIM_DEVICE unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return __dp4a(moore_sim::bits_of<unsigned int>(a), moore_sim::bits_of<unsigned int>(b), c);
}
