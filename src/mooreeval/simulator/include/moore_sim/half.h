// __half, __half2 and cuda_fp16.h's functions. Needs no PyTorch.
#pragma once

#include "moore_sim/atomics.h"
#include "moore_sim/float16.h"
#include "moore_sim/math.h"
#include "moore_sim/vector_types.h"
#include "moore_sim/warp.h"

typedef moore_sim::Float16<moore_sim::Binary16> __half;
typedef moore_sim::Pair16<moore_sim::Binary16> __half2;
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define MOORE_SIM_H __half
#define MOORE_SIM_H2 __half2
#include "moore_sim/float16_functions.h"
MOORE_SIM_FROM_INTEGER_16(__int2half_rn, int)
MOORE_SIM_FROM_INTEGER_16(__uint2half_rn, unsigned int)
MOORE_SIM_FROM_INTEGER_16(__short2half_rn, short)
MOORE_SIM_FROM_INTEGER_16(__ushort2half_rn, unsigned short)
MOORE_SIM_FROM_INTEGER_16(__ll2half_rn, long long)
MOORE_SIM_FROM_INTEGER_16(__ull2half_rn, unsigned long long)
MOORE_SIM_TO_INTEGER_16(__half2int_, int)
MOORE_SIM_TO_INTEGER_16(__half2uint_, unsigned int)
MOORE_SIM_TO_INTEGER_16(__half2short_, short)
MOORE_SIM_TO_INTEGER_16(__half2ushort_, unsigned short)
MOORE_SIM_TO_INTEGER_16(__half2ll_, long long)
MOORE_SIM_TO_INTEGER_16(__half2ull_, unsigned long long)
MOORE_SIM_TO_INTEGER_16(__half2char_, signed char)
MOORE_SIM_TO_INTEGER_16(__half2uchar_, unsigned char)
#undef MOORE_SIM_FROM_INTEGER_16
#undef MOORE_SIM_TO_INTEGER_16
#undef MOORE_SIM_TO_INTEGER_MODE_16
#undef MOORE_SIM_H
#undef MOORE_SIM_H2

MOORE_SIM_DEVICE __half __float2half(float a) { return __half::of(a); }
MOORE_SIM_DEVICE __half __float2half_rn(float a) { return __half::of(a); }
MOORE_SIM_DEVICE __half __float2half_rz(float a) { return moore_sim::converted<moore_sim::Round::ZERO, __half>(a); }
MOORE_SIM_DEVICE __half __float2half_rd(float a) { return moore_sim::converted<moore_sim::Round::DOWN, __half>(a); }
MOORE_SIM_DEVICE __half __float2half_ru(float a) { return moore_sim::converted<moore_sim::Round::UP, __half>(a); }
MOORE_SIM_DEVICE __half __double2half(double a) { return __half::of(a); }
MOORE_SIM_DEVICE float __half2float(__half a) { return a.value(); }

MOORE_SIM_DEVICE short __half_as_short(__half a) { return static_cast<short>(a.bits); }
MOORE_SIM_DEVICE unsigned short __half_as_ushort(__half a) { return a.bits; }
MOORE_SIM_DEVICE __half __short_as_half(short a) { return __half::from_bits(static_cast<uint16_t>(a)); }
MOORE_SIM_DEVICE __half __ushort_as_half(unsigned short a) { return __half::from_bits(a); }

MOORE_SIM_DEVICE __half2 make_half2(__half x, __half y) { return {x, y}; }
MOORE_SIM_DEVICE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
MOORE_SIM_DEVICE __half2 __half2half2(__half a) { return {a, a}; }
MOORE_SIM_DEVICE __half2 __float2half2_rn(float a) { return {__half::of(a), __half::of(a)}; }
MOORE_SIM_DEVICE __half2 __floats2half2_rn(float x, float y) { return {__half::of(x), __half::of(y)}; }
MOORE_SIM_DEVICE __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
MOORE_SIM_DEVICE float2 __half22float2(__half2 a) { return make_float2(a.x.value(), a.y.value()); }
MOORE_SIM_DEVICE __half __low2half(__half2 a) { return a.x; }
MOORE_SIM_DEVICE __half __high2half(__half2 a) { return a.y; }
MOORE_SIM_DEVICE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
MOORE_SIM_DEVICE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
MOORE_SIM_DEVICE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
MOORE_SIM_DEVICE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
