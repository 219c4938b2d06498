// Run-time calls, right and wrong. Each function returns what its calls returned, as decimal digits or an error number.
#include <cassert>
#include <cstring>
#include <string>

#include "launch.h"

__constant__ float weights[4];
__device__ int counter;

__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * weights[i % 4];
}
__global__ void count() { atomicAdd(&counter, 1); }
__global__ void check_index(int n) { assert(static_cast<int>(threadIdx.x) < n); }

struct Buffers {
  float host[64] = {};
  float* device = nullptr;
  Buffers() { cudaMalloc(&device, sizeof host); }
};

EXPORT int run_copy_host_as_device() {
  Buffers b, c;
  return cudaMemcpy(b.host, c.host, 16, cudaMemcpyDeviceToHost);
}
EXPORT int run_copy_device_as_host() {
  Buffers b;
  return cudaMemcpy(b.device, b.device, 16, cudaMemcpyHostToDevice);
}
EXPORT int run_copy_too_much() {
  Buffers b;
  char big[257] = {};
  return cudaMemcpy(b.device, big, sizeof big, cudaMemcpyHostToDevice);
}
EXPORT int run_copy_too_much_from_the_middle() {
  Buffers b;
  return cudaMemcpyAsync(b.host, b.device + 60, 20, cudaMemcpyDeviceToHost, nullptr);
}
EXPORT int run_fill_host() {
  Buffers b;
  return cudaMemset(b.host, 0, 16);
}
EXPORT int run_fill_too_much() {
  Buffers b;
  return cudaMemset(b.device, 0, sizeof b.host + 4);
}
EXPORT int run_copy_null() {
  Buffers b;
  return cudaMemcpy(nullptr, b.device, 4, cudaMemcpyDeviceToHost);
}
EXPORT int run_last_error() {
  Buffers b;
  cudaMemset(b.host, 0, 16);
  const int peeked = cudaPeekAtLastError(), got = cudaGetLastError(), again = cudaGetLastError();
  return peeked * 100 + got * 10 + again;
}
EXPORT int run_right_copies() {
  Buffers b, c;
  for (int i = 0; i < 64; ++i) b.host[i] = static_cast<float>(i);
  int errors = cudaMemcpy(b.device, b.host, 256, cudaMemcpyHostToDevice);
  errors += cudaMemcpy(c.device, b.device, 256, cudaMemcpyDefault);
  errors += cudaMemcpyAsync(c.host, c.device + 32, 128, cudaMemcpyDeviceToHost, nullptr);
  errors += cudaMemcpy2D(c.host + 32, 8, b.device, 16, 8, 16, cudaMemcpyDeviceToHost);
  errors += cudaMemset(b.device, 0, 0) + cudaFree(b.device) + cudaFree(nullptr);
  const bool right = c.host[0] == 32 && c.host[31] == 63 && c.host[32] == 0 && c.host[34] == 4 && c.host[63] == 61;
  return errors * 10 + right;
}
EXPORT int run_symbols() {
  const float values[4] = {1, 2, 3, 4};
  Buffers b, c;
  for (int i = 0; i < 64; ++i) b.host[i] = 10;
  int errors = cudaMemcpyToSymbol(weights, values, sizeof values);
  errors += cudaMemcpy(b.device, b.host, 256, cudaMemcpyHostToDevice);
  LAUNCH(scale, 1, 64, b.device, c.device, 64);
  errors += cudaMemcpy(c.host, c.device, 256, cudaMemcpyDeviceToHost);
  LAUNCH(count, 2, 3);
  int counted = 0, *address = nullptr, again = 0;
  errors += cudaMemcpyFromSymbol(&counted, counter, sizeof counted);
  errors += cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counter);
  errors += cudaMemcpy(&again, address, sizeof again, cudaMemcpyDeviceToHost);
  return errors * 1000 + (c.host[6] == 30) * 100 + counted * 10 + again;
}
EXPORT int run_launch_by_pointer() {
  const float values[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(weights, values, sizeof values);
  Buffers b, c;
  for (int i = 0; i < 64; ++i) b.host[i] = 1;
  cudaMemcpy(b.device, b.host, 256, cudaMemcpyHostToDevice);
  const float* x = b.device;
  int n = 64;
  void* arguments[] = {&x, &c.device, &n};
  const int error = cudaLaunchKernel(scale, dim3(2), dim3(32), arguments, 0, nullptr);
  cudaMemcpy(c.host, c.device, 256, cudaMemcpyDeviceToHost);
  return error * 10 + static_cast<int>(c.host[63]);
}
EXPORT int run_events() {
  cudaEvent_t start, end;
  cudaStream_t stream;
  cudaStreamCreate(&stream), cudaEventCreate(&start), cudaEventCreate(&end);
  float ms = -1;
  const int too_early = cudaEventElapsedTime(&ms, start, end);
  cudaEventRecord(start, stream), cudaEventRecord(end, stream), cudaEventSynchronize(end);
  const int timed = cudaEventElapsedTime(&ms, start, end);
  cudaEventDestroy(start), cudaEventDestroy(end), cudaStreamDestroy(stream);
  return too_early * 10 + timed + (ms > 0 && ms < 1000);
}
EXPORT int run_device_queries() {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  int sms = 0, blocks = 0, wrong = cudaSetDevice(3);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0);
  const bool right = p.major == 8 && p.minor == 0 && p.warpSize == 32 && sms == p.multiProcessorCount && blocks == 8 &&
                     std::string(p.name) == "Simulated CUDA device" &&
                     std::string(cudaGetErrorName(cudaErrorInvalidConfiguration)) == "cudaErrorInvalidConfiguration" &&
                     std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument";
  return wrong * 10 + right;
}
EXPORT int run_shared_opt_in() {
  const int fits = cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10);
  return fits * 10 + cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 256 << 10);
}
EXPORT int run_assert() {
  LAUNCH(check_index, 1, 32, 31);
  return 0;
}
EXPORT int run_managed() {
  float* p;
  return cudaMallocManaged(&p, 16);
}
