// __nv_bfloat16, __nv_bfloat162 and cuda_bf16.h's functions. Needs no PyTorch.
#pragma once

#include "moore_sim/atomics.h"
#include "moore_sim/float16.h"
#include "moore_sim/math.h"
#include "moore_sim/vector_types.h"
#include "moore_sim/warp.h"

typedef moore_sim::Float16<moore_sim::Brain16> __nv_bfloat16;
typedef moore_sim::Pair16<moore_sim::Brain16> __nv_bfloat162;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define MOORE_SIM_H __nv_bfloat16
#define MOORE_SIM_H2 __nv_bfloat162
#include "moore_sim/float16_functions.h"
MOORE_SIM_FROM_INTEGER_16(__int2bfloat16_rn, int)
MOORE_SIM_FROM_INTEGER_16(__uint2bfloat16_rn, unsigned int)
MOORE_SIM_FROM_INTEGER_16(__short2bfloat16_rn, short)
MOORE_SIM_FROM_INTEGER_16(__ushort2bfloat16_rn, unsigned short)
MOORE_SIM_FROM_INTEGER_16(__ll2bfloat16_rn, long long)
MOORE_SIM_FROM_INTEGER_16(__ull2bfloat16_rn, unsigned long long)
MOORE_SIM_TO_INTEGER_16(__bfloat162int_, int)
MOORE_SIM_TO_INTEGER_16(__bfloat162uint_, unsigned int)
MOORE_SIM_TO_INTEGER_16(__bfloat162short_, short)
MOORE_SIM_TO_INTEGER_16(__bfloat162ushort_, unsigned short)
MOORE_SIM_TO_INTEGER_16(__bfloat162ll_, long long)
MOORE_SIM_TO_INTEGER_16(__bfloat162ull_, unsigned long long)
MOORE_SIM_TO_INTEGER_16(__bfloat162char_, signed char)
MOORE_SIM_TO_INTEGER_16(__bfloat162uchar_, unsigned char)
#undef MOORE_SIM_FROM_INTEGER_16
#undef MOORE_SIM_TO_INTEGER_16
#undef MOORE_SIM_TO_INTEGER_MODE_16
#undef MOORE_SIM_H
#undef MOORE_SIM_H2

#define MOORE_SIM_TO_BFLOAT16(function, mode) \
  MOORE_SIM_DEVICE __nv_bfloat16 function(float a) { \
    return moore_sim::converted<moore_sim::Round::mode, __nv_bfloat16>(a); \
  }
MOORE_SIM_TO_BFLOAT16(__float2bfloat16, NEAREST)
MOORE_SIM_TO_BFLOAT16(__float2bfloat16_rn, NEAREST)
MOORE_SIM_TO_BFLOAT16(__float2bfloat16_rz, ZERO)
MOORE_SIM_TO_BFLOAT16(__float2bfloat16_rd, DOWN)
MOORE_SIM_TO_BFLOAT16(__float2bfloat16_ru, UP)
#undef MOORE_SIM_TO_BFLOAT16
MOORE_SIM_DEVICE __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16::of(a); }
MOORE_SIM_DEVICE float __bfloat162float(__nv_bfloat16 a) { return a.value(); }

MOORE_SIM_DEVICE short __bfloat16_as_short(__nv_bfloat16 a) { return static_cast<short>(a.bits); }
MOORE_SIM_DEVICE unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
MOORE_SIM_DEVICE __nv_bfloat16 __short_as_bfloat16(short a) {
  return __nv_bfloat16::from_bits(static_cast<uint16_t>(a));
}
MOORE_SIM_DEVICE __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __nv_bfloat16::from_bits(a); }

MOORE_SIM_DEVICE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
MOORE_SIM_DEVICE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
MOORE_SIM_DEVICE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
MOORE_SIM_DEVICE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16::of(x), __nv_bfloat16::of(y)};
}
MOORE_SIM_DEVICE __nv_bfloat162 __float2bfloat162_rn(float a) { return __floats2bfloat162_rn(a, a); }
MOORE_SIM_DEVICE __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
MOORE_SIM_DEVICE float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2(a.x.value(), a.y.value()); }
MOORE_SIM_DEVICE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
MOORE_SIM_DEVICE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
MOORE_SIM_DEVICE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
MOORE_SIM_DEVICE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
MOORE_SIM_DEVICE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
MOORE_SIM_DEVICE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
