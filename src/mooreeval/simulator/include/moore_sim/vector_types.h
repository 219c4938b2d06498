// char1 .. double4 with CUDA's alignments, and make_*. No operators: CUDA has none, and candidates define their own.
#pragma once

#include "moore_sim/qualifiers.h"

#define MOORE_SIM_VECTOR_1(T, name, align1) \
  struct __attribute__((aligned(align1))) name##1 { T x; }; \
  MOORE_SIM_DEVICE constexpr name##1 make_##name##1(T x) { return {x}; }
#define MOORE_SIM_VECTOR_2(T, name, align2) \
  struct __attribute__((aligned(align2))) name##2 { T x, y; }; \
  MOORE_SIM_DEVICE constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }
#define MOORE_SIM_VECTOR_3(T, name) struct name##3 { T x, y, z; }; MOORE_SIM_MAKE_3(T, name)
#define MOORE_SIM_MAKE_3(T, name) \
  MOORE_SIM_DEVICE constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define MOORE_SIM_VECTOR_4(T, name, suffix, align4) \
  struct __attribute__((aligned(align4))) name##4##suffix { T x, y, z, w; }; \
  MOORE_SIM_DEVICE constexpr name##4##suffix make_##name##4##suffix(T x, T y, T z, T w) { return {x, y, z, w}; }

// Every type but uint (whose uint3 is part of the run time's contract) in one line: alignments of the 1, 2, 4 forms.
#define MOORE_SIM_VECTORS(T, name, align1, align2, align4) \
  MOORE_SIM_VECTOR_1(T, name, align1) MOORE_SIM_VECTOR_2(T, name, align2) \
  MOORE_SIM_VECTOR_3(T, name) MOORE_SIM_VECTOR_4(T, name, , align4)

MOORE_SIM_VECTORS(signed char, char, 1, 2, 4)
MOORE_SIM_VECTORS(unsigned char, uchar, 1, 2, 4)
MOORE_SIM_VECTORS(short, short, 2, 4, 8)
MOORE_SIM_VECTORS(unsigned short, ushort, 2, 4, 8)
MOORE_SIM_VECTORS(int, int, 4, 8, 16)
MOORE_SIM_VECTORS(long, long, 8, 16, 16)
MOORE_SIM_VECTORS(unsigned long, ulong, 8, 16, 16)
MOORE_SIM_VECTORS(long long, longlong, 8, 16, 16)
MOORE_SIM_VECTORS(unsigned long long, ulonglong, 8, 16, 16)
MOORE_SIM_VECTORS(float, float, 4, 8, 16)
MOORE_SIM_VECTORS(double, double, 8, 16, 16)
MOORE_SIM_VECTOR_1(unsigned int, uint, 4)
MOORE_SIM_VECTOR_2(unsigned int, uint, 8)
MOORE_SIM_MAKE_3(unsigned int, uint)
MOORE_SIM_VECTOR_4(unsigned int, uint, , 16)

// CUDA 13 names the alignment of the 32-byte vectors.
#define MOORE_SIM_WIDE_VECTORS(T, name) MOORE_SIM_VECTOR_4(T, name, _16a, 16) MOORE_SIM_VECTOR_4(T, name, _32a, 32)
MOORE_SIM_WIDE_VECTORS(long, long)
MOORE_SIM_WIDE_VECTORS(unsigned long, ulong)
MOORE_SIM_WIDE_VECTORS(long long, longlong)
MOORE_SIM_WIDE_VECTORS(unsigned long long, ulonglong)
MOORE_SIM_WIDE_VECTORS(double, double)

#undef MOORE_SIM_VECTOR_1
#undef MOORE_SIM_VECTOR_2
#undef MOORE_SIM_VECTOR_3
#undef MOORE_SIM_VECTOR_4
#undef MOORE_SIM_MAKE_3
#undef MOORE_SIM_VECTORS
#undef MOORE_SIM_WIDE_VECTORS
