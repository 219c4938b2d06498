// What the CUDA headers and the rewriter would give a kernel, as little as these tests need.
#pragma once
#include "moore_sim/runtime.h"

#define threadIdx (::moore_sim::current.thread)
#define blockIdx (::moore_sim::current.block)
#define blockDim (::moore_sim::current.block_dim)
#define gridDim (::moore_sim::current.grid_dim)
#define KERNEL static __attribute__((noinline)) void
#define LAUNCH(kernel, grid, block, shared) (::moore_sim::Launch(#kernel, grid, block, shared) % [=](auto&... a) { kernel(a...); })
#define RUN(name) extern "C" __attribute__((visibility("default"))) int run_##name()

struct alignas(16) float4 { float x, y, z, w; };

inline void syncthreads() { moore_sim::barrier(); }
inline void syncwarp(unsigned mask = ~0u) { moore_sim::warp_op(moore_sim::WarpOp::SYNC, mask, 0, {}); }
inline float shuffle_down(unsigned mask, float value, int delta) {
  moore_sim::Exchange in{};
  std::memcpy(in.word, &value, 4);
  const int lane = moore_sim::lane_id();
  const int source = lane + delta < 32 ? lane + delta : lane;
  const moore_sim::Exchange out = moore_sim::warp_op(moore_sim::WarpOp::SHUFFLE, mask, source, in);
  std::memcpy(&value, out.word, 4);
  return value;
}
inline uint64_t reduce(moore_sim::WarpOp op, unsigned mask, uint64_t value) {
  return moore_sim::warp_op(op, mask, 0, {{value, 0}}).word[0];
}
inline int atomic_add(int* p, int v) {
  moore_sim::atomic_access(p, 4);
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
inline float* device_floats(int n, float first = 0, float step = 1) {
  auto* p = static_cast<float*>(moore_sim::device_malloc(sizeof(float) * static_cast<size_t>(n)));
  moore_sim::DeviceMemoryOpen open;
  for (int i = 0; i < n; ++i) p[i] = first + step * static_cast<float>(i);
  return p;
}
inline int* device_ints(int n, int value = 0) {
  auto* p = static_cast<int*>(moore_sim::device_malloc(sizeof(int) * static_cast<size_t>(n)));
  moore_sim::DeviceMemoryOpen open;
  for (int i = 0; i < n; ++i) p[i] = value;
  return p;
}
template <class T> T host_value(const T* p) {
  moore_sim::DeviceMemoryOpen open;
  return *p;
}
#define SHARED(type, name, count)                 \
  struct shared_##name { type values[count]; };   \
  auto& name = ::moore_sim::shared<shared_##name>().values
