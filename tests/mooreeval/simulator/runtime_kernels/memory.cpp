// Bounds, alignment, and the kinds of memory.
#include "device.h"
#include <cstdlib>

KERNEL scale(const float* in, float* out, int n) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = 2 * in[i];
}
RUN(scale) {
  const int n = 1000;
  float *in = device_floats(n), *out = device_floats(n);
  LAUNCH(scale, 4, 256, 0)(in, out, n);
  moore_sim::DeviceMemoryOpen open;
  for (int i = 0; i < n; ++i)
    if (out[i] != 2 * float(i)) return 0;
  return 1;
}

KERNEL reads_one_past(const float* in, float* out, int n) {
  int i = int(threadIdx.x);
  if (i < n) out[i] = in[i + 1];  // MARK reads_one_past
}
RUN(reads_one_past) {
  LAUNCH(reads_one_past, 1, 32, 0)(device_floats(30), device_floats(30), 30);
  return 1;
}

KERNEL writes_one_past(float* out, int n) {
  int i = int(threadIdx.x);
  if (i <= n) out[i] = 1;  // MARK writes_one_past
}
RUN(writes_one_past) {
  LAUNCH(writes_one_past, 1, 64, 0)(device_floats(33), 33);
  return 1;
}

KERNEL writes_far_past(float* out, int n) {
  out[n + int(threadIdx.x) * 2000] = 1;  // MARK writes_far_past
}
RUN(writes_far_past) {
  LAUNCH(writes_far_past, 1, 8, 0)(device_floats(16), 16);
  return 1;
}

KERNEL writes_before(float* out) { out[-5] = 1; }  // MARK writes_before
RUN(writes_before) {
  LAUNCH(writes_before, 1, 1, 0)(device_floats(16));
  return 1;
}

KERNEL writes_at(float* out, int i) { out[i] = 1; }
RUN(writes_very_far) {
  LAUNCH(writes_at, 1, 1, 0)(device_floats(64), 100000000);
  return 1;
}

KERNEL copies_too_much(char* out, const char* in, int n) { memcpy(out, in, size_t(n)); }  // MARK copies_too_much
RUN(copies_too_much) {
  LAUNCH(copies_too_much, 1, 1, 0)((char*)device_floats(9), (char*)device_floats(10), 38);
  return 1;
}

KERNEL reads_vectors(const float* in, float* out) {
  float4 v = reinterpret_cast<const float4*>(in)[threadIdx.x];  // MARK reads_vectors
  out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
RUN(aligned_vectors) {
  LAUNCH(reads_vectors, 1, 4, 0)(device_floats(16), device_floats(4));
  return 1;
}
RUN(misaligned_vectors) {
  float* in = device_floats(24);
  LAUNCH(reads_vectors, 1, 4, 0)(in + 1, device_floats(4));
  return 1;
}

RUN(use_after_free) {
  float *in = device_floats(64), *out = device_floats(64);
  moore_sim::device_free(in);
  LAUNCH(scale, 1, 64, 0)(in, out, 64);
  return 1;
}
RUN(free_twice) {
  float* p = device_floats(64);
  return moore_sim::device_free(p) && !moore_sim::device_free(p) && !moore_sim::device_free(p + 1);
}
RUN(host_reads_device) {
  float* p = device_floats(64);
  return p[3] > 0;  // MARK host_reads_device
}
RUN(host_reads_null) {
  volatile int* p = nullptr;
  return *p;
}
RUN(host_aborts) { abort(); }

RUN(kernel_reads_heap) {
  float* in = new float[64]();
  LAUNCH(scale, 1, 64, 0)(in, device_floats(64), 64);
  return 1;
}
RUN(kernel_reads_host_stack) {
  float in[64] = {};
  float* p = in;
  LAUNCH(scale, 1, 64, 0)(p, device_floats(64), 64);
  return 1;
}
RUN(kernel_null) {
  float* in = nullptr;
  LAUNCH(scale, 1, 64, 0)(in, device_floats(64), 64);
  return 1;
}

static float device_table[64];
static const float constant_table[4] = {1, 2, 3, 4};
KERNEL uses_module_data(float* out) {
  device_table[threadIdx.x] = constant_table[threadIdx.x % 4];
  syncthreads();
  out[threadIdx.x] = device_table[63 - threadIdx.x];
}
RUN(module_data) {
  LAUNCH(uses_module_data, 1, 64, 0)(device_floats(64));
  return 1;
}
KERNEL races_on_module_data(float* out) {
  device_table[threadIdx.x] = float(threadIdx.x);
  out[threadIdx.x] = device_table[63 - threadIdx.x];  // MARK races_on_module_data
}
RUN(module_data_race) {
  LAUNCH(races_on_module_data, 1, 64, 0)(device_floats(64));
  return 1;
}

KERNEL scale_through_pointer(float* p) { p[threadIdx.x] *= 2; }
RUN(kernel_variable) {
  void (*kernel)(float*) = scale_through_pointer;
  float* p = device_floats(64);
  (moore_sim::Launch("kernel", 1, 64) % [&](auto&... a) { kernel(a...); })(p);
  (moore_sim::Launch("kernel", 1, 64) % [=](auto&... a) { kernel(a...); })(p);
  return host_value(p + 5) == 20;
}

static float deep(int n, volatile float* sink) {
  volatile float frame[256];
  frame[n % 256] = float(n);
  return n > 0 ? deep(n - 1, frame) + frame[n % 256] : *sink;
}
KERNEL recurses(float* out, int n) { out[0] = deep(n, out); }
RUN(stack_overflow) {
  LAUNCH(recurses, 1, 1, 0)(device_floats(1), 100000);
  return 1;
}
RUN(deep_stack) {
  LAUNCH(recurses, 1, 1, 0)(device_floats(1), 100);
  return 1;
}

KERNEL divides(int* out, int by) { out[0] = 7 / by; }  // MARK divides
RUN(division_by_zero) {
  LAUNCH(divides, 1, 1, 0)(device_ints(1), 0);
  return 1;
}

KERNEL throws(int* out) {
  if (out) throw 1;
}
RUN(exception_in_kernel) {
  LAUNCH(throws, 1, 1, 0)(device_ints(1));
  return 1;
}

RUN(memory_limit) {
  moore_sim_limit_memory(1 << 20);
  void* small = moore_sim::device_malloc(1000);
  void* large = moore_sim::device_malloc(1 << 20);
  return small && !large && moore_sim::is_device_pointer(small) && moore_sim::device_bytes_from((char*)small + 10) == 990;
}
RUN(fresh_memory_is_nan) {
  auto* p = (float*)moore_sim::device_malloc(40);
  moore_sim::DeviceMemoryOpen open;
  return p[0] != p[0] && p[9] != p[9];
}

KERNEL touches(float* p, int n) {
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) p[i] += 1;
}
RUN(many_accesses) {
  LAUNCH(touches, 1, 256, 0)(device_floats(1 << 16), 1 << 16);
  return 1;
}
KERNEL last_block_overruns(float* p, int n) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i <= n) p[i] = 1;
}
RUN(overrun_beyond_budget) {
  const int n = 64 * 1000 - 1;
  LAUNCH(last_block_overruns, 1000, 64, 0)(device_floats(n), n);
  return 1;
}
