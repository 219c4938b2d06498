// Tables over scalar intrinsics, and atomics.
#include "launch.h"

#define ELEMENT const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return
#define GRID (n + 127) / 128

__global__ void to_int(const float* x, int* y, int n) {
  ELEMENT;
  y[4 * i] = __float2int_rn(x[i]), y[4 * i + 1] = __float2int_rz(x[i]);
  y[4 * i + 2] = __float2int_rd(x[i]), y[4 * i + 3] = __float2int_ru(x[i]);
}
__global__ void to_unsigned_long(const double* x, unsigned long long* y, int n) {
  ELEMENT;
  y[i] = __double2ull_rz(x[i]);
}
// Sixteen results: add, multiply, divide, root in each of the modes rn, rz, rd, ru.
__global__ void rounded(const float* a, const float* b, float* y, int n) {
  ELEMENT;
  float* o = y + 16 * i;
  const float p = a[i], q = b[i], r = fabsf(p);
  o[0] = __fadd_rn(p, q), o[1] = __fadd_rz(p, q), o[2] = __fadd_rd(p, q), o[3] = __fadd_ru(p, q);
  o[4] = __fmul_rn(p, q), o[5] = __fmul_rz(p, q), o[6] = __fmul_rd(p, q), o[7] = __fmul_ru(p, q);
  o[8] = __fdiv_rn(p, q), o[9] = __fdiv_rz(p, q), o[10] = __fdiv_rd(p, q), o[11] = __fdiv_ru(p, q);
  o[12] = __fsqrt_rn(r), o[13] = __fsqrt_rz(r), o[14] = __fsqrt_rd(r), o[15] = __fsqrt_ru(r);
}
__global__ void fused(const float* a, const float* b, const float* c, float* y, int n) {
  ELEMENT;
  y[4 * i] = __fmaf_rn(a[i], b[i], c[i]), y[4 * i + 1] = __fmaf_rz(a[i], b[i], c[i]);
  y[4 * i + 2] = __fmaf_rd(a[i], b[i], c[i]), y[4 * i + 3] = __fmaf_ru(a[i], b[i], c[i]);
}
__global__ void integers_to_float(const long long* x, float* y, int n) {
  ELEMENT;
  y[4 * i] = __ll2float_rn(x[i]), y[4 * i + 1] = __ll2float_rz(x[i]);
  y[4 * i + 2] = __ll2float_rd(x[i]), y[4 * i + 3] = __ll2float_ru(x[i]);
}
__global__ void bit_functions(const unsigned* x, const unsigned* y, unsigned* o, int n) {
  ELEMENT;
  o[8 * i] = __popc(x[i]), o[8 * i + 1] = __clz(x[i]), o[8 * i + 2] = __ffs(x[i]), o[8 * i + 3] = __brev(x[i]);
  o[8 * i + 4] = __byte_perm(x[i], y[i], 0x7531), o[8 * i + 5] = __funnelshift_l(x[i], y[i], 37);
  o[8 * i + 6] = __umulhi(x[i], y[i]), o[8 * i + 7] = __dp4a(int(x[i]), int(y[i]), 5);
}
__global__ void special(const float* x, double* y, int n) {
  ELEMENT;
  const double v = x[i];
  y[8 * i] = normcdf(v), y[8 * i + 1] = erfinv(v), y[8 * i + 2] = erfcinv(v + 1), y[8 * i + 3] = erfcx(v);
  y[8 * i + 4] = sinpi(v), y[8 * i + 5] = cospi(v), y[8 * i + 6] = rsqrt(v + 2), y[8 * i + 7] = cyl_bessel_i1(v);
}
__global__ void mixed_min_max(int* y) {
  y[0] = max(-1, 1u) == 4294967295u;  // the unsigned overload, as in CUDA
  y[1] = static_cast<int>(min(3.5f, 2.25) * 100);
  y[2] = max(3, 7), y[3] = static_cast<int>(max(NAN, 4.0f)), y[4] = static_cast<int>(__saturatef(NAN) + __saturatef(7.f));
  y[5] = isnan(__powf(-2.0f, 2.0f));
  const float4 v = make_float4(1, 2, 3, 4);
  y[6] = sizeof(float4) + alignof(float4) + alignof(double2) + alignof(float3) + alignof(uint2);
  y[7] = static_cast<int>(v.x + v.y + v.z + v.w) + warpSize;
}
__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], 1), atomicSub(&i[1], 1), atomicMin(&i[2], -t), atomicMax(&i[3], t), atomicXor(&i[4], t);
  atomicAnd(&i[5], ~(1 << t % 7)), atomicOr(&i[6], 1 << t % 9), atomicAdd_block(&i[7], t);
  atomicInc(&u[0], 9), atomicDec(&u[1], 9), atomicAdd(&u[2], 2u);
  atomicAdd(&l[0], 1ull << 33), atomicMax(&l[1], (unsigned long long)t << 40);
  atomicAdd(&f[0], 0.5f), atomicAdd(&d[0], 0.25);
  atomicExch(&f[1], float(t >= 0));
}
// A lock-free maximum and a sum of doubles, as real code writes them: a plain read, then compare-and-swap.
__global__ void loops(int* largest, double* sum) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  int seen = *largest, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(largest, assumed, max(assumed, t * t));
  } while (seen != assumed);
  auto* words = reinterpret_cast<unsigned long long*>(sum);
  unsigned long long old = *words, before;
  do {
    before = old;
    old = atomicCAS(words, before, __double_as_longlong(0.5 + __longlong_as_double(before)));
  } while (before != old);
}

EXPORT void run_to_int(float* x, int* y, int n) {
  OnDevice<float> dx(x, n);
  OnDevice<int> dy(y, 4 * n);
  LAUNCH(to_int, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_to_unsigned_long(double* x, unsigned long long* y, int n) {
  OnDevice<double> dx(x, n);
  OnDevice<unsigned long long> dy(y, n);
  LAUNCH(to_unsigned_long, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_rounded(float* a, float* b, float* y, int n) {
  OnDevice<float> da(a, n), db(b, n), dy(y, 16 * n);
  LAUNCH(rounded, GRID, 128, da.data, db.data, dy.data, n);
  dy.back();
}
EXPORT void run_fused(float* a, float* b, float* c, float* y, int n) {
  OnDevice<float> da(a, n), db(b, n), dc(c, n), dy(y, 4 * n);
  LAUNCH(fused, GRID, 128, da.data, db.data, dc.data, dy.data, n);
  dy.back();
}
EXPORT void run_integers_to_float(long long* x, float* y, int n) {
  OnDevice<long long> dx(x, n);
  OnDevice<float> dy(y, 4 * n);
  LAUNCH(integers_to_float, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_bit_functions(unsigned* x, unsigned* y, unsigned* o, int n) {
  OnDevice<unsigned> dx(x, n), dy(y, n), dz(o, 8 * n);
  LAUNCH(bit_functions, GRID, 128, dx.data, dy.data, dz.data, n);
  dz.back();
}
EXPORT void run_special(float* x, double* y, int n) {
  OnDevice<float> dx(x, n);
  OnDevice<double> dy(y, 8 * n);
  LAUNCH(special, GRID, 128, dx.data, dy.data, n);
  dy.back();
}
EXPORT void run_mixed_min_max(int* y, int n) {
  OnDevice<int> dy(y, n);
  LAUNCH(mixed_min_max, 1, 1, dy.data);
  dy.back();
}
EXPORT void run_atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, int n) {
  OnDevice<int> di(i, 8);
  OnDevice<unsigned> du(u, 3);
  OnDevice<unsigned long long> dl(l, 2);
  OnDevice<float> df(f, 2);
  OnDevice<double> dd(d, 1);
  LAUNCH(atomics, n / 64, 64, di.data, du.data, dl.data, df.data, dd.data);
  di.back(), du.back(), dl.back(), df.back(), dd.back();
}
EXPORT void run_loops(int* largest, double* sum, int n) {
  OnDevice<int> dl(largest, 1);
  OnDevice<double> ds(sum, 1);
  LAUNCH(loops, n / 64, 64, dl.data, ds.data);
  dl.back(), ds.back();
}
