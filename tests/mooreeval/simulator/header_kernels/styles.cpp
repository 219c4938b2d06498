// Device and host code in the styles that people and models write. Compiling is the test.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda/pipeline>
#include <cuda/std/limits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <curand_kernel.h>
#include <cusparse.h>
#include <device_launch_parameters.h>
#include <float.h>
#include <math_constants.h>
#include <mma.h>
#include <nvToolsExt.h>
#include <thrust/device_vector.h>
#include <vector>

#define WARP_SIZE 32
#define CUDA_CHECK(call) \
  do { \
    cudaError_t err = (call); \
    if (err != cudaSuccess) { \
      fprintf(stderr, "CUDA error %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
      exit(EXIT_FAILURE); \
    } \
  } while (0)
#define FLOAT4(value) (reinterpret_cast<float4*>(&(value))[0])

using namespace std;

__constant__ float c_kernel[64];
__device__ __managed__ int flag;
__device__ unsigned int blocks_done = 0;
static __device__ __constant__ const float table[2] = {1.f, 2.f};

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }
static __device__ __inline__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
__host__ __device__ inline int div_up(int a, int b) { return (a + b - 1) / b; }
inline __device__ float4 operator+(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ float4 make_float4(float s) { return make_float4(s, s, s, s); }
__device__ float atomicMax(float* address, float value) {  // an overload that CUDA lacks
  int* as_int = (int*)address;
  int old = *as_int, assumed;
  do {
    assumed = old;
    old = atomicCAS(as_int, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

template <typename T, int BLOCK = 256> struct __align__(16) Vector { T value[4]; };
template <typename T> __device__ __forceinline__ T warp_reduce_sum(T val) {
#pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1) val += __shfl_down_sync(0xffffffff, val, offset);
  return val;
}
template <typename T, typename Op> __device__ T block_reduce(T val, Op op, T* scratch) {
  const int lane = threadIdx.x & (warpSize - 1), wid = threadIdx.x / warpSize;
  for (int o = 16; o; o /= 2) val = op(val, __shfl_xor_sync(~0u, val, o));
  if (!lane) scratch[wid] = val;
  __syncthreads();
  return threadIdx.x < blockDim.x / warpSize ? scratch[lane] : T(0);
}
struct MaxOp { __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); } };

template <typename scalar_t, int TILE>
__global__ void __launch_bounds__(256, 2) everything(const scalar_t* __restrict__ in, scalar_t* __restrict__ out,
                                                     const float4* __restrict__ in4, const int64_t n, half* h) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t stride = (int64_t)gridDim.x * blockDim.x;
  scalar_t local_max = -FLT_MAX, best = -INFINITY, worst = -CUDART_INF_F;
  if (tid >= n) return;
  for (int64_t i = tid; i < n; i += stride) {
    const scalar_t v = __ldg(&in[i]);
    local_max = max(local_max, v), best = fmaxf(best, v), worst = std::min(worst, v);
    out[i] = tanhf(v) + sigmoid(v) + gelu(v) + log1pf(expf(v)) + sqrtf(fabsf(v)) + rsqrtf(v * v + 1e-5f) + powf(v, 2.f);
    out[i] += pow(v, 2) + exp(v) + abs(v) + min(v, 1.f) + __logf(v) + __fdividef(v, 3.f) + __frcp_rn(v) + roundf(v);
    out[i] += isnan(v) || isinf(v) || std::isfinite(v) ? 0.f : erff(v) + normcdff(v) + copysignf(1.f, v) + fmodf(v, 2.f);
    float s, c;
    sincosf(v, &s, &c), __sincosf(v, &s, &c);
    out[i] += s + c + fma(v, v, v) + __fmaf_rn(v, v, v) + floorf(v) + cbrtf(v) + hypotf(v, s) + lgammaf(v);
  }
  float4 a = in4[tid], b = __ldcs(in4 + tid), d = *reinterpret_cast<const float4*>(in + 4 * tid);
  a = a + b + d + make_float4(1.f), FLOAT4(out[4 * tid]) = a;
  __stcs(reinterpret_cast<float4*>(out) + tid, a), __stcg(out, 1.f);
  auto sum = [=] __device__(float x, float y) { return x + y; };
  out[0] = warp_reduce_sum(sum(a.x, b.y)) + block_reduce(a.z, MaxOp(), out) + table[tid & 1] + c_kernel[tid % 64];
  unsigned mask = __ballot_sync(0xffffffffu, tid < n), active = __activemask();
  if (__any_sync(mask, tid == 3) && __popc(active) > __clz(tid) + __ffs(tid)) atomicAdd(out, (scalar_t)1);
  atomicMax(out, 3.f), atomicAdd(&blocks_done, 1u), __threadfence(), __syncwarp();
  if (threadIdx.x == 0 && atomicInc(&blocks_done, gridDim.x) == gridDim.x - 1) printf("%d %f\n", tid, out[0]);
  h[tid] = __float2half(__half2float(h[tid]) * 2.0f), h[0] = __hadd(h[1], h[2]), h[1] = __hmul(h[1], hexp(h[2]));
  half2 p = __floats2half2_rn(1.f, 2.f), q = __hfma2(p, p, p);
  float2 f = __half22float2(q);
  out[1] = f.x + __low2float(p) + __bfloat162float(__float2bfloat16(f.y)) + uint3(threadIdx).y + dim3(blockIdx).z;
  const int clamped = max(0, min((int)n - 1, tid)), wide = max((int64_t)0, min(n, (int64_t)tid));
  out[2] = clamped + wide + (cuda::std::numeric_limits<float>::max)() + div_up(tid, 3) + __float2int_rd(out[1]);
  if (clock64() < 0) __trap(), __nanosleep(10);
  __builtin_assume(n > 0);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  __syncwarp();
#endif
}
extern "C" __global__ void plain(float* x) { x[threadIdx.x] = max(x[threadIdx.x], 0.0f); }
__global__ static void grid_stride(float* x, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) x[i] = i;
}

void host(float* x, int n) {
  dim3 blockDim(16, 16), gridDim(div_up(n, 16), div_up(n, 16));  // names that host code likes
  int threadIdx = blockDim.x * gridDim.y, device = 0, minGrid = 0, block = 0, sms = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304));
  CUDA_CHECK(cudaFuncSetAttribute((const void*)everything<float, 32>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared));
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, plain, 0, 0));
  float* copy;
  CUDA_CHECK(cudaMalloc((void**)&copy, n * sizeof(float)));
  CUDA_CHECK(cudaMemcpyAsync(copy, x, n, cudaMemcpyDeviceToDevice));
  cudaStream_t streams[2];
  for (auto& s : streams) CUDA_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  cudaMemcpyToSymbol(c_kernel, x, sizeof(c_kernel), 0, cudaMemcpyDeviceToDevice);
  ([=](auto&... a) { everything<float, 32>(a...); } %
   ::moore_sim::Launch("everything", gridDim, threadIdx, 0, streams[0]))(x, copy, (float4*)x, (int64_t)n, (half*)x);
  ([=](auto&... a) { plain(a...); } % ::moore_sim::Launch("plain", 1, n))(x);
  ([=](auto&... a) { grid_stride(a...); } % ::moore_sim::Launch("grid_stride", 1, n, 0, 0))(x, n);
  CUDA_CHECK(cudaGetLastError());
  nvtxRangePop();
}
