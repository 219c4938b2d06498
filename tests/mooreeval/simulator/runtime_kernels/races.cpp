// Shared memory, races and what must not be taken for one.
#include "device.h"

KERNEL block_sum(const float* in, float* out, int n) {
  SHARED(float, s, 256);
  const int t = int(threadIdx.x), i = int(blockIdx.x * blockDim.x) + t;
  s[t] = i < n ? in[i] : 0;
  syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
    syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
RUN(block_sum) {
  float* out = device_floats(4);
  LAUNCH(block_sum, 4, 256, 0)(device_floats(1000, 1, 0), out, 1000);
  return host_value(out) == 256 && host_value(out + 3) == 232;
}

KERNEL reverses_without_barrier(const float* in, float* out) {
  SHARED(float, s, 256);
  s[threadIdx.x] = in[threadIdx.x];  // MARK missing_barrier_write
  out[threadIdx.x] = s[255 - threadIdx.x];  // MARK missing_barrier_read
}
RUN(missing_barrier) {
  LAUNCH(reverses_without_barrier, 1, 256, 0)(device_floats(256), device_floats(256));
  return 1;
}

KERNEL reuses_without_barrier(const float* in, float* out) {
  SHARED(float, s, 64);
  for (int round = 0; round < 2; ++round) {
    s[threadIdx.x] = in[threadIdx.x] + float(round);  // MARK reuse_write
    syncthreads();
    out[threadIdx.x] += s[63 - threadIdx.x];  // MARK reuse_read
  }
}
RUN(missing_second_barrier) {
  LAUNCH(reuses_without_barrier, 1, 64, 0)(device_floats(64), device_floats(64));
  return 1;
}

KERNEL dynamic_reverse(float* p) {
  auto* s = static_cast<float*>(moore_sim::dynamic_shared());
  s[threadIdx.x] = p[threadIdx.x];
  syncthreads();
  p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
RUN(dynamic_shared) {
  float* p = device_floats(100);
  LAUNCH(dynamic_reverse, 1, 100, 400)(p);
  return host_value(p) == 99;
}
RUN(dynamic_shared_too_small) {
  LAUNCH(dynamic_reverse, 1, 100, 396)(device_floats(100));
  return 1;
}
RUN(dynamic_shared_forgotten) {
  LAUNCH(dynamic_reverse, 1, 100, 0)(device_floats(100));
  return 1;
}
KERNEL dynamic_beside_static(float* p) {
  SHARED(float, first, 8);
  auto* s = static_cast<float*>(moore_sim::dynamic_shared());
  if (threadIdx.x == 0) first[0] = p[0];
  s[threadIdx.x] = p[threadIdx.x];
}
RUN(dynamic_shared_forgotten_beside_static) {
  LAUNCH(dynamic_beside_static, 1, 100, 0)(device_floats(100));
  return 1;
}
KERNEL static_overrun(float* p) {
  SHARED(float, s, 32);
  SHARED(float, other, 32);
  s[threadIdx.x + 1] = p[threadIdx.x];  // MARK static_overrun
  syncthreads();
  p[threadIdx.x] = s[0] + other[0];
}
RUN(static_overrun) {
  LAUNCH(static_overrun, 1, 32, 0)(device_floats(32));
  return 1;
}
KERNEL reads_unwritten(float* p) {
  SHARED(float, s, 32);
  if (threadIdx.x < 16) s[threadIdx.x] = p[threadIdx.x];
  syncthreads();
  p[threadIdx.x] = s[threadIdx.x];  // MARK reads_unwritten
}
RUN(reads_unwritten) {
  LAUNCH(reads_unwritten, 1, 32, 0)(device_floats(32));
  return 1;
}
KERNEL bytes_of_a_word(signed char* out) {
  SHARED(signed char, s, 64);
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}
RUN(bytes_of_a_word) {
  LAUNCH(bytes_of_a_word, 1, 64, 0)((signed char*)device_floats(16));
  return 1;
}
KERNEL bytes_of_own_block(signed char* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
RUN(bytes_of_own_block) {
  LAUNCH(bytes_of_own_block, 7, 3, 0)((signed char*)device_floats(16));
  return 1;
}

KERNEL accumulates(float* out) {
  if (threadIdx.x == 0) out[0] += 1;  // MARK accumulates
}
RUN(blocks_accumulate) {
  LAUNCH(accumulates, 8, 32, 0)(device_floats(1));
  return 1;
}
KERNEL writes_block_number(int* out) { out[0] = int(blockIdx.x); }  // MARK writes_block_number
RUN(blocks_write_different) {
  LAUNCH(writes_block_number, 8, 1, 0)(device_ints(1));
  return 1;
}
KERNEL raises_flag(int* flag) { *flag = 1; }  // MARK raises_flag
RUN(same_value_flag) {
  int* flag = device_ints(1);
  LAUNCH(raises_flag, 4, 64, 0)(flag);
  return host_value(flag);
}
KERNEL counts(int* counter) { atomic_add(counter, 1); }
RUN(atomic_counter) {
  int* counter = device_ints(1);
  LAUNCH(counts, 16, 64, 0)(counter);
  return host_value(counter) == 1024;
}
KERNEL shared_counter(int* out) {
  SHARED(int, count, 1);
  if (threadIdx.x == 0) count[0] = 0;
  syncthreads();
  atomic_add(count, 1);
  syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = count[0];
}
RUN(shared_counter) {
  int* out = device_ints(2);
  LAUNCH(shared_counter, 2, 96, 0)(out);
  return host_value(out + 1) == 96;
}
KERNEL counter_without_barrier(int* out) {
  SHARED(int, count, 1);
  if (threadIdx.x == 0) count[0] = 0;
  syncthreads();
  atomic_add(count, 1);
  if (threadIdx.x == 0) out[blockIdx.x] = count[0];  // MARK counter_without_barrier
}
RUN(counter_without_barrier) {
  LAUNCH(counter_without_barrier, 2, 96, 0)(device_ints(2));
  return 1;
}

KERNEL last_block(const float* in, float* partial, int* done, float* out, int fences) {
  SHARED(int, last, 1);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];  // MARK last_block_write
    if (fences) moore_sim::fence();
    last[0] = atomic_add(done, 1) == int(gridDim.x) - 1;
  }
  syncthreads();
  if (last[0] && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
    out[0] = sum;
  }
}
static int run_last_block(int fences) {
  float* out = device_floats(1);
  LAUNCH(last_block, 100, 64, 0)(device_floats(100, 1, 0), device_floats(100), device_ints(1), out, fences);
  return host_value(out) == 100;
}
RUN(last_block_done) { return run_last_block(1); }
RUN(last_block_without_fence) { return run_last_block(0); }

// All threads write, the barrier collects the block, one thread's fence covers what the barrier ordered.
KERNEL last_block_of_threads(float* partial, int* done, float* out) {
  SHARED(int, last, 1);
  partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  moore_sim::fence();
  syncthreads();
  if (threadIdx.x == 0) last[0] = atomic_add(done, 1) == int(gridDim.x) - 1;
  syncthreads();
  if (!last[0]) return;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) sum += partial[i];
  out[threadIdx.x] = sum;
}
RUN(last_block_of_threads) {
  float* out = device_floats(64);
  LAUNCH(last_block_of_threads, 20, 64, 0)(device_floats(20 * 64), device_ints(1), out);
  return host_value(out) == 20;
}

KERNEL warp_tail_plain(float* p) {
  SHARED(float, s, 64);
  const unsigned t = threadIdx.x;
  s[t] = p[t];
  syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];  // MARK warp_tail_plain
  }
}
RUN(warp_tail_plain) {
  LAUNCH(warp_tail_plain, 1, 64, 0)(device_floats(64));
  return 1;
}
KERNEL warp_tail_synced(float* p) {
  SHARED(float, s, 64);
  const unsigned t = threadIdx.x;
  s[t] = p[t];
  syncthreads();
  if (t < 32) {
    float v = s[t] + s[t + 32];
    for (int step = 16; step > 0; step /= 2) {
      syncwarp();
      s[t] = v;
      syncwarp();
      v += s[(t + unsigned(step)) % 32];
    }
    p[t] = v;
  }
}
RUN(warp_tail_synced) {
  float* p = device_floats(64, 1, 0);
  LAUNCH(warp_tail_synced, 1, 64, 0)(p);
  return host_value(p) == 64;
}
KERNEL warp_tail_volatile(float* p) {
  SHARED(float, s, 128);
  const unsigned t = threadIdx.x;
  s[t] = p[t];
  syncthreads();
  if (t < 32) {
    volatile float* v = s;
    v[t] = v[t] + v[t + 32];
    v[t] = v[t] + v[t + 16];
    v[t] = v[t] + v[t + 8];
    v[t] = v[t] + v[t + 4];
    v[t] = v[t] + v[t + 2];
    v[t] = v[t] + v[t + 1];
  }
  if (t == 0) p[0] = s[0];
}
RUN(warp_tail_volatile) {
  float* p = device_floats(64, 0, 1);
  LAUNCH(warp_tail_volatile, 1, 64, 0)(p);
  return host_value(p) == 63 * 64 / 2;
}
KERNEL half_warps(float* p) {
  SHARED(float, s, 32);
  const unsigned t = threadIdx.x, mask = t < 16 ? 0xFFFFu : 0xFFFF0000u;
  s[t] = p[t];
  syncwarp(mask);
  p[t] = s[t ^ 15];
}
RUN(half_warps) {
  float* p = device_floats(32);
  LAUNCH(half_warps, 1, 32, 0)(p);
  return host_value(p) == 15 && host_value(p + 16) == 31;
}
KERNEL across_half_warps(float* p) {
  SHARED(float, s, 32);
  const unsigned t = threadIdx.x, mask = t < 16 ? 0xFFFFu : 0xFFFF0000u;
  s[t] = p[t];
  syncwarp(mask);
  p[t] = s[t ^ 31];  // MARK across_half_warps
}
RUN(across_half_warps) {
  LAUNCH(across_half_warps, 1, 32, 0)(device_floats(32));
  return 1;
}

// A lock taken by one thread of each warp; the block's other warps wait for it.
KERNEL locked(int* lock, int* value) {
  if (threadIdx.x % 32 != 0) return;
  for (;;) {
    moore_sim::atomic_access(lock, 4);
    int free = 0;
    if (__atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
  }
  moore_sim::fence();
  *value += 1;
  moore_sim::fence();
  moore_sim::atomic_access(lock, 4);
  __atomic_exchange_n(lock, 0, __ATOMIC_SEQ_CST);
}
RUN(spin_lock) {
  int* value = device_ints(1);
  LAUNCH(locked, 8, 128, 0)(device_ints(1), value);
  return host_value(value) == 32;
}
// The consumer starts first in one of the orders and must let the producer have its turn.
KERNEL waits_for_flag(volatile int* flag, float* data, float* out) {
  if (threadIdx.x == 0) {
    data[0] = 5;
    moore_sim::fence();
    *flag = 1;
  } else if (threadIdx.x == blockDim.x - 1) {
    while (*flag == 0) {}
    moore_sim::fence();
    out[0] = data[0];
  }
}
RUN(flag_between_threads) {
  float* out = device_floats(1);
  LAUNCH(waits_for_flag, 1, 64, 0)(device_ints(1), device_floats(1), out);
  return host_value(out) == 5;
}

// The loop that CUDA's own guide shows: it begins with a plain read.
KERNEL compare_and_swap_loop(float* sum) {
  auto* word = reinterpret_cast<unsigned*>(sum);
  unsigned old = *word, assumed;
  do {
    assumed = old;
    float value;
    memcpy(&value, &assumed, 4);
    value += 1;
    unsigned desired;
    memcpy(&desired, &value, 4);
    moore_sim::atomic_access(word, 4);
    __atomic_compare_exchange_n(word, &old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  } while (assumed != old);
}
RUN(compare_and_swap_loop) {
  float* sum = device_floats(1);
  LAUNCH(compare_and_swap_loop, 4, 96, 0)(sum);
  return host_value(sum) == 384;
}
KERNEL divides_by_unfinished_sum(int* sum, float* out) {
  atomic_add(sum, 1);
  out[blockIdx.x] = 1.0f / float(*sum);  // MARK divides_by_unfinished_sum
}
RUN(reads_unfinished_sum) {
  LAUNCH(divides_by_unfinished_sum, 8, 1, 0)(device_ints(1), device_floats(8));
  return 1;
}
KERNEL lanes_write_different(int* out) { out[threadIdx.x / 2] = int(threadIdx.x); }  // MARK lanes_write_different
RUN(lanes_write_different) {
  LAUNCH(lanes_write_different, 1, 32, 0)(device_ints(16));
  return 1;
}
