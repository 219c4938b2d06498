// Tables over __half and __nv_bfloat16. All values cross as raw bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "launch.h"

#define ELEMENT const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return

__global__ void to_half(const float* x, unsigned short* y, int n) {
  ELEMENT;
  y[4 * i] = __half_as_ushort(__float2half_rn(x[i]));
  y[4 * i + 1] = __half_as_ushort(__float2half_rz(x[i]));
  y[4 * i + 2] = __half_as_ushort(__float2half_rd(x[i]));
  y[4 * i + 3] = __half_as_ushort(__float2half_ru(x[i]));
}
__global__ void to_bfloat16(const float* x, unsigned short* y, int n) {
  ELEMENT;
  y[4 * i] = __bfloat16_as_ushort(__float2bfloat16(x[i]));
  y[4 * i + 1] = __bfloat16_as_ushort(__float2bfloat16_rz(x[i]));
  y[4 * i + 2] = __bfloat16_as_ushort(__float2bfloat16_rd(x[i]));
  y[4 * i + 3] = __bfloat16_as_ushort(__float2bfloat16_ru(x[i]));
}
__global__ void double_to_half(const double* x, unsigned short* y, int n) {
  ELEMENT;
  y[i] = __half_as_ushort(__double2half(x[i]));
}
__global__ void from_half(const __half* x, float* y, int n) { ELEMENT; y[i] = __half2float(x[i]); }
__global__ void from_bfloat16(const __nv_bfloat16* x, float* y, int n) { ELEMENT; y[i] = __bfloat162float(x[i]); }
__global__ void arithmetic(const __half* a, const __half* b, const __half* c, __half* y, int n) {
  ELEMENT;
  y[8 * i] = __hadd(a[i], b[i]);
  y[8 * i + 1] = a[i] - b[i];
  y[8 * i + 2] = __hmul(a[i], b[i]);
  y[8 * i + 3] = __hdiv(a[i], b[i]);
  y[8 * i + 4] = __hfma(a[i], b[i], c[i]);
  y[8 * i + 5] = hsqrt(a[i]);
  y[8 * i + 6] = __hmax(a[i], b[i]);
  y[8 * i + 7] = __hmin(a[i], b[i]);
}
__global__ void pairs(const __half2* a, const __half2* b, __half2* y, float2* f, int n) {
  ELEMENT;
  y[2 * i] = __hadd2(a[i], b[i]);
  y[2 * i + 1] = __hfma2(a[i], b[i], __lowhigh2highlow(a[i]));
  f[i] = __half22float2(__hmul2(a[i], b[i]));
}
__global__ void comparisons(const __half* a, const __half* b, int* y, int n) {
  ELEMENT;
  y[i] = __heq(a[i], b[i]) | __hne(a[i], b[i]) << 1 | __hlt(a[i], b[i]) << 2 | __hle(a[i], b[i]) << 3 |
         __hgt(a[i], b[i]) << 4 | __hge(a[i], b[i]) << 5 | __hltu(a[i], b[i]) << 6 | __hisnan(a[i]) << 7;
}
__global__ void integers(const __half* a, int* y, int n) {
  ELEMENT;
  y[4 * i] = __half2int_rn(a[i]);
  y[4 * i + 1] = __half2int_rz(a[i]);
  y[4 * i + 2] = __half2int_rd(a[i]);
  y[4 * i + 3] = __half2int_ru(a[i]);
}
__global__ void add_all(const __half* x, __half* sum, __half2* sum2, __nv_bfloat16* brain_sum, int n) {
  ELEMENT;
  atomicAdd(sum, x[i]);
  atomicAdd(sum2, __halves2half2(x[i], __float2half(1.0f)));
  atomicAdd(brain_sum, __float2bfloat16(1.0f));
}

#define GRID (n + 127) / 128
EXPORT void run_to_half(float* x, unsigned short* y, int n) {
  OnDevice<float> dx(x, n);
  OnDevice<unsigned short> dy(y, 4 * n);
  LAUNCH(to_half, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_to_bfloat16(float* x, unsigned short* y, int n) {
  OnDevice<float> dx(x, n);
  OnDevice<unsigned short> dy(y, 4 * n);
  LAUNCH(to_bfloat16, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_double_to_half(double* x, unsigned short* y, int n) {
  OnDevice<double> dx(x, n);
  OnDevice<unsigned short> dy(y, n);
  LAUNCH(double_to_half, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_from_half(unsigned short* x, float* y, int n) {
  OnDevice<__half> dx(x, n);
  OnDevice<float> dy(y, n);
  LAUNCH(from_half, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_from_bfloat16(unsigned short* x, float* y, int n) {
  OnDevice<__nv_bfloat16> dx(x, n);
  OnDevice<float> dy(y, n);
  LAUNCH(from_bfloat16, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_arithmetic(void* a, void* b, void* c, void* y, int n) {
  OnDevice<__half> da(a, n), db(b, n), dc(c, n), dy(y, 8 * n);
  LAUNCH(arithmetic, GRID, 128, da.data, db.data, dc.data, dy.data, n);
  dy.back();
}
EXPORT void run_pairs(void* a, void* b, void* y, void* f, int n) {
  OnDevice<__half2> da(a, n), db(b, n), dy(y, 2 * n);
  OnDevice<float2> df(f, n);
  LAUNCH(pairs, GRID, 128, da.data, db.data, dy.data, df.data, n);
  dy.back();
  df.back();
}
EXPORT void run_comparisons(void* a, void* b, int* y, int n) {
  OnDevice<__half> da(a, n), db(b, n);
  OnDevice<int> dy(y, n);
  LAUNCH(comparisons, GRID, 128, da.data, db.data, dy.data, n);
  dy.back();
}
EXPORT void run_integers(void* a, int* y, int n) {
  OnDevice<__half> da(a, n);
  OnDevice<int> dy(y, 4 * n);
  LAUNCH(integers, GRID, 128, da.data, dy.data, n);
  dy.back();
}
EXPORT void run_add_all(void* x, void* sum, void* sum2, void* brain_sum, int n) {
  OnDevice<__half> dx(x, n), ds(sum, 1);
  OnDevice<__half2> d2(sum2, 1);
  OnDevice<__nv_bfloat16> db(brain_sum, 1);
  LAUNCH(add_all, GRID, 128, dx.data, ds.data, d2.data, db.data, n);
  ds.back();
  d2.back();
  db.back();
}
