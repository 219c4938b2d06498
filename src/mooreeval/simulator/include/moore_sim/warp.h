// Warp shuffles, votes, matches and reductions. All meet in moore_sim::warp_op.
#pragma once

#include "moore_sim/qualifiers.h"

MOORE_SIM_HEADERS_BEGIN

template <class T> __attribute__((always_inline)) inline T shuffle(unsigned int mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(Exchange) && std::is_trivially_copyable_v<T>);
  Exchange exchange{};
  __builtin_memcpy(&exchange, &value, sizeof(T));
  exchange = warp_op(WarpOp::SHUFFLE, mask, source, exchange);
  __builtin_memcpy(&value, &exchange, sizeof(T));
  return value;
}

// Lane that a thread reads from. A segment is `width` neighbouring lanes; a source outside it means the own value, but
// __shfl_xor may reach down into earlier segments.
inline int segment_source(int lane, int source, int width) { return (lane & ~(width - 1)) | (source & (width - 1)); }
inline int up_source(int lane, unsigned int delta, int width) {
  const int first = lane & ~(width - 1);
  return static_cast<unsigned int>(lane - first) < delta ? lane : lane - static_cast<int>(delta);
}
inline int down_source(int lane, unsigned int delta, int width) {
  const int last = lane | (width - 1);
  return static_cast<unsigned int>(last - lane) < delta ? lane : lane + static_cast<int>(delta);
}
inline int xor_source(int lane, int lane_mask, int width) {
  const int source = lane ^ lane_mask;
  return source > (lane | (width - 1)) || source < 0 ? lane : source;
}

#define MOORE_SIM_SHUFFLE template <class T> __attribute__((always_inline)) inline T
MOORE_SIM_SHUFFLE shuffle_from(unsigned int mask, T value, int source, int width) {
  return shuffle(mask, value, segment_source(lane_id(), source, width));
}
MOORE_SIM_SHUFFLE shuffle_up(unsigned int mask, T value, unsigned int delta, int width) {
  return shuffle(mask, value, up_source(lane_id(), delta, width));
}
MOORE_SIM_SHUFFLE shuffle_down(unsigned int mask, T value, unsigned int delta, int width) {
  return shuffle(mask, value, down_source(lane_id(), delta, width));
}
MOORE_SIM_SHUFFLE shuffle_xor(unsigned int mask, T value, int lane_mask, int width) {
  return shuffle(mask, value, xor_source(lane_id(), lane_mask, width));
}
#undef MOORE_SIM_SHUFFLE

__attribute__((always_inline)) inline uint64_t reduce(WarpOp op, unsigned int mask, uint64_t value) {
  return warp_op(op, mask, 0, Exchange{{value, 0}}).word[0];
}

MOORE_SIM_HEADERS_END

// Overloads for the types CUDA has them for: smaller ones are promoted as there, structs have none.
#define MOORE_SIM_SHUFFLES(T) \
  MOORE_SIM_DEVICE T __shfl_sync(unsigned mask, T value, int source, int width = 32) { \
    return moore_sim::shuffle_from(mask, value, source, width); \
  } \
  MOORE_SIM_DEVICE T __shfl_up_sync(unsigned mask, T value, unsigned int delta, int width = 32) { \
    return moore_sim::shuffle_up(mask, value, delta, width); \
  } \
  MOORE_SIM_DEVICE T __shfl_down_sync(unsigned mask, T value, unsigned int delta, int width = 32) { \
    return moore_sim::shuffle_down(mask, value, delta, width); \
  } \
  MOORE_SIM_DEVICE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) { \
    return moore_sim::shuffle_xor(mask, value, lane_mask, width); \
  }
MOORE_SIM_SHUFFLES(int)
MOORE_SIM_SHUFFLES(unsigned int)
MOORE_SIM_SHUFFLES(long)
MOORE_SIM_SHUFFLES(unsigned long)
MOORE_SIM_SHUFFLES(long long)
MOORE_SIM_SHUFFLES(unsigned long long)
MOORE_SIM_SHUFFLES(float)
MOORE_SIM_SHUFFLES(double)
// MOORE_SIM_SHUFFLES stays defined: half.h and bfloat16.h add their types.

// ------------------------------------------------------------------------------------------------ votes
MOORE_SIM_DEVICE unsigned int __activemask() { return moore_sim::active_mask(); }
MOORE_SIM_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return static_cast<unsigned int>(moore_sim::reduce(moore_sim::WarpOp::BALLOT, mask, predicate != 0));
}
MOORE_SIM_DEVICE int __any_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
MOORE_SIM_DEVICE int __all_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
MOORE_SIM_DEVICE int __uni_sync(unsigned int mask, int predicate) {
  return moore_sim::reduce(moore_sim::WarpOp::MATCH_ALL, mask, predicate != 0) != 0;
}

// ------------------------------------------------------------------------------------------------ matches
#define MOORE_SIM_MATCH(T, Word) \
  MOORE_SIM_DEVICE unsigned int __match_any_sync(unsigned int mask, T value) { \
    const auto word = __builtin_bit_cast(Word, value); \
    return static_cast<unsigned int>(moore_sim::reduce(moore_sim::WarpOp::MATCH_ANY, mask, word)); \
  } \
  MOORE_SIM_DEVICE unsigned int __match_all_sync(unsigned int mask, T value, int* predicate) { \
    const auto word = __builtin_bit_cast(Word, value); \
    const auto equal = static_cast<unsigned int>(moore_sim::reduce(moore_sim::WarpOp::MATCH_ALL, mask, word)); \
    *predicate = equal != 0; \
    return equal; \
  }
MOORE_SIM_MATCH(int, unsigned int)
MOORE_SIM_MATCH(unsigned int, unsigned int)
MOORE_SIM_MATCH(float, unsigned int)
MOORE_SIM_MATCH(long, unsigned long)
MOORE_SIM_MATCH(unsigned long, unsigned long)
MOORE_SIM_MATCH(long long, unsigned long)
MOORE_SIM_MATCH(unsigned long long, unsigned long)
MOORE_SIM_MATCH(double, unsigned long)
#undef MOORE_SIM_MATCH

// ------------------------------------------------------------------------------------------------ reductions
// Conversion to 64 bits keeps the sign of an int, which the signed minimum and maximum compare.
#define MOORE_SIM_REDUCTION(name, T, op) \
  MOORE_SIM_DEVICE T name(unsigned int mask, T value) { \
    return static_cast<T>(moore_sim::reduce(moore_sim::WarpOp::op, mask, static_cast<uint64_t>(value))); \
  }
MOORE_SIM_REDUCTION(__reduce_add_sync, unsigned int, ADD)
MOORE_SIM_REDUCTION(__reduce_add_sync, int, ADD)
MOORE_SIM_REDUCTION(__reduce_min_sync, unsigned int, MIN_UNSIGNED)
MOORE_SIM_REDUCTION(__reduce_min_sync, int, MIN_SIGNED)
MOORE_SIM_REDUCTION(__reduce_max_sync, unsigned int, MAX_UNSIGNED)
MOORE_SIM_REDUCTION(__reduce_max_sync, int, MAX_SIGNED)
MOORE_SIM_REDUCTION(__reduce_and_sync, unsigned int, AND)
MOORE_SIM_REDUCTION(__reduce_or_sync, unsigned int, OR)
MOORE_SIM_REDUCTION(__reduce_xor_sync, unsigned int, XOR)
#undef MOORE_SIM_REDUCTION

// The forms without a mask do not exist from compute capability 7.0 on: nvcc refuses them too.
#define MOORE_SIM_REMOVED(name) \
  template <class... A> \
  __attribute__((unavailable("removed by CUDA for compute capability 7.0 and higher; use " #name "_sync"))) \
  int name(A&&...);
MOORE_SIM_REMOVED(__shfl)
MOORE_SIM_REMOVED(__shfl_up)
MOORE_SIM_REMOVED(__shfl_down)
MOORE_SIM_REMOVED(__shfl_xor)
MOORE_SIM_REMOVED(__ballot)
MOORE_SIM_REMOVED(__any)
MOORE_SIM_REMOVED(__all)
#undef MOORE_SIM_REMOVED
