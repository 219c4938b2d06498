// Barriers, votes, warp operations, and threads that wait for what never comes. Launches, too.
#include "device.h"

using moore_sim::WarpOp;

KERNEL warp_sums(const float* in, float* out, int n) {
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  float v = i < n ? in[i] : 0;
  for (int d = 16; d > 0; d /= 2) v += shuffle_down(~0u, v, d);
  if (threadIdx.x % 32 == 0) out[blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32] = v;
}
RUN(warp_sums) {
  float* out = device_floats(8);
  LAUNCH(warp_sums, 2, 128, 0)(device_floats(250, 1, 0), out, 250);
  return host_value(out) == 32 && host_value(out + 7) == 26;
}
RUN(partial_warp_sums) {
  float* out = device_floats(2);
  LAUNCH(warp_sums, 1, 48, 0)(device_floats(48, 1, 0), out, 48);
  return host_value(out) == 32;
}
KERNEL exact_partial_sums(float* out) {
  const unsigned mask = threadIdx.x < 32 ? ~0u : 0xFFFFu;
  uint64_t all = reduce(WarpOp::ADD, mask, threadIdx.x);
  uint64_t high = reduce(WarpOp::MAX_UNSIGNED, mask, threadIdx.x);
  uint64_t low = reduce(WarpOp::MIN_SIGNED, mask, uint64_t(int64_t(threadIdx.x) - 5));
  uint64_t odd = reduce(WarpOp::BALLOT, mask, threadIdx.x & 1);
  uint64_t like_me = reduce(WarpOp::MATCH_ANY, mask, threadIdx.x % 4);
  out[threadIdx.x] = float(all) + 1000 * float(high) + float(int64_t(low)) + (odd == (0xAAAAAAAAu & mask)) * 1e6f +
                     (like_me == ((0x11111111u << threadIdx.x % 4) & mask)) * 2e6f;
}
RUN(reductions) {
  float* out = device_floats(48);
  LAUNCH(exact_partial_sums, 1, 48, 0)(out);
  return host_value(out) == 496 + 31000 - 5 + 3e6f && host_value(out + 47) == 632 + 47000 + 27 + 3e6f;
}
KERNEL votes(int* out, int n) {
  int t = int(threadIdx.x);
  if (t >= n) return;
  int odd = moore_sim::barrier_vote(moore_sim::Vote::COUNT, t & 1);
  int all = moore_sim::barrier_vote(moore_sim::Vote::AND, t < 60);
  int any = moore_sim::barrier_vote(moore_sim::Vote::OR, t == 7);
  out[t] = odd * 100 + all * 10 + any;
}
RUN(votes) {
  int* out = device_ints(64);
  LAUNCH(votes, 1, 64, 0)(out, 64);
  return host_value(out) == 3201 && host_value(out + 63) == 3201;
}
RUN(votes_after_exits) {
  int* out = device_ints(64);
  LAUNCH(votes, 1, 64, 0)(out, 50);
  return host_value(out + 49) == 2511;
}
KERNEL lanes_exit(float* out, int n) {
  if (int(threadIdx.x) >= n) return;
  out[threadIdx.x] = float(reduce(WarpOp::ADD, ~0u, 1));
}
RUN(lanes_exit) {
  float* out = device_floats(64);
  LAUNCH(lanes_exit, 1, 64, 0)(out, 40);
  return host_value(out) == 32 && host_value(out + 39) == 8;
}
KERNEL divergent_masks(float* out) {
  const unsigned t = threadIdx.x;
  if (t % 2) out[t] = float(reduce(WarpOp::ADD, 0xAAAAAAAAu, 1));
  else out[t] = float(reduce(WarpOp::ADD, 0x55555555u, 2));
}
RUN(divergent_masks) {
  float* out = device_floats(32);
  LAUNCH(divergent_masks, 1, 32, 0)(out);
  return host_value(out) == 32 && host_value(out + 1) == 16;
}
// Lanes that a full mask names wait at the barrier below: undefined, and hardware lets it pass.
KERNEL too_full_a_mask(float* out) {
  float v = 1;
  if (threadIdx.x < 8)
    for (int d = 4; d > 0; d /= 2) v += shuffle_down(~0u, v, d);  // MARK too_full_a_mask
  syncthreads();
  if (threadIdx.x == 0) out[0] = v;
}
RUN(too_full_a_mask) {
  float* out = device_floats(1);
  LAUNCH(too_full_a_mask, 1, 64, 0)(out);
  return host_value(out) == 8;
}
KERNEL deadlocks(float* out) {
  if (threadIdx.x < 16) syncwarp();  // MARK deadlock_warp
  else syncthreads();  // MARK deadlock_barrier
  out[0] = 1;
}
RUN(deadlock) {
  float* out = device_floats(1);
  LAUNCH(deadlocks, 3, 32, 0)(out);
  const int error = moore_sim::last_error(true);
  LAUNCH(warp_sums, 1, 32, 0)(device_floats(32, 1, 0), out, 32);
  return error == 719 && host_value(out) == 32;
}
KERNEL diverges(float* out) {
  if (threadIdx.x < 32) syncthreads();  // MARK diverges_first
  else {
    out[threadIdx.x] = 1;
    syncthreads();  // MARK diverges_second
  }
}
RUN(divergent_barrier) {
  LAUNCH(diverges, 1, 64, 0)(device_floats(64));
  return 1;
}
KERNEL some_leave(float* p, int n) {
  if (int(threadIdx.x) >= n) return;
  p[threadIdx.x] = 1;
  syncthreads();  // MARK some_leave
  p[threadIdx.x] += p[(threadIdx.x + 1) % unsigned(n)];
}
RUN(exited_before_barrier) {
  LAUNCH(some_leave, 1, 64, 0)(device_floats(64), 1);
  return 1;
}
KERNEL own_order(int* out, int* next) { out[atomic_add(next, 1)] = int(blockIdx.x * blockDim.x + threadIdx.x); }
// The order in which threads started, as a number.
RUN(order) {
  int* out = device_ints(12);
  LAUNCH(own_order, 3, 4, 0)(out, device_ints(1));
  moore_sim::DeviceMemoryOpen open;
  unsigned code = 0;
  for (int i = 0; i < 12; ++i) code = code * 31 + unsigned(out[i]);
  return int(code % 1000003);
}
KERNEL cube(float* out) {
  const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[b * blockDim.x * blockDim.y * blockDim.z + t] = float(b * 100 + t);
}
RUN(coordinates) {
  float* out = device_floats(24 * 24);
  LAUNCH(cube, dim3(2, 3, 4), dim3(4, 3, 2), 0)(out);
  moore_sim::DeviceMemoryOpen open;
  for (int b = 0; b < 24; ++b)
    for (int t = 0; t < 24; ++t)
      if (out[b * 24 + t] != float(b * 100 + t)) return 0;
  return 1;
}
KERNEL barrier_work(float* p) {
  SHARED(float, s, 256);
  for (int i = 0; i < 8; ++i) {
    s[threadIdx.x] = p[blockIdx.x * 256 + threadIdx.x];
    syncthreads();
    p[blockIdx.x * 256 + threadIdx.x] = s[(threadIdx.x + 1) % 256] + 1;
    syncthreads();
  }
}
RUN(many_blocks) {
  float* p = device_floats(256 * 300, 0, 0);
  for (int i = 0; i < 5; ++i) LAUNCH(barrier_work, 300, 256, 0)(p);
  moore_sim::DeviceMemoryOpen open;
  for (int i = 0; i < 256 * 300; ++i)
    if (p[i] != 40) return 0;
  return 1;
}

KERNEL nothing() {}
RUN(bad_launches) {
  LAUNCH(nothing, 1, 1025, 0)();
  const int too_many = moore_sim::last_error(true);
  LAUNCH(nothing, 0, 32, 0)();
  const int empty = moore_sim::last_error(true);
  LAUNCH(nothing, 1, 32, 50000)();
  const int shared = moore_sim::last_error(true);
  moore_sim::set_max_dynamic_shared(100000);
  LAUNCH(nothing, 1, 32, 50000)();
  return too_many == 9 && empty == 9 && shared == 1 && moore_sim::last_error(true) == 0;
}
KERNEL big_static(float* out) {
  SHARED(float, s, 13000);
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}
RUN(big_static) {
  LAUNCH(big_static, 1, 32, 0)(device_floats(32));
  return 1;
}
KERNEL launches_more() { LAUNCH(nothing, 1, 1, 0)(); }
RUN(dynamic_parallelism) {
  LAUNCH(launches_more, 1, 1, 0)();
  return 1;
}
KERNEL asserts() {
  if (threadIdx.x == 3) moore_sim::trap("assertion \"x < n\" failed");
}
RUN(trap) {
  LAUNCH(asserts, 1, 32, 0)();
  return 1;
}
