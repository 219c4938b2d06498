// Atomic functions on global and shared memory. Each tells the run time what it is about to touch (that call is what a
// finding points at), then performs the operation atomically across host threads, unseen by the race detector.
#pragma once

#include "moore_sim/bits.h"
#include "moore_sim/qualifiers.h"

MOORE_SIM_HEADERS_BEGIN

// Device atomics are relaxed; ordering comes from __threadfence and barriers.
template <class T> MOORE_SIM_UNWATCHED T fetch_add(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
template <class T> MOORE_SIM_UNWATCHED T fetch_and(T* p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }
template <class T> MOORE_SIM_UNWATCHED T fetch_or(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }
template <class T> MOORE_SIM_UNWATCHED T fetch_xor(T* p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }
template <class T> MOORE_SIM_UNWATCHED T exchange(T* p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }
template <class T> MOORE_SIM_UNWATCHED T compare_and_swap(T* p, T expected, T desired) {
  __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

// Any other read-modify-write, by compare-and-swap over the object's bits.
template <class Word, class T, class F> MOORE_SIM_UNWATCHED T fetch_update(T* p, F next) {
  static_assert(sizeof(Word) == sizeof(T));
  auto* word = reinterpret_cast<Word*>(p);
  Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &seen, __builtin_bit_cast(Word, next(__builtin_bit_cast(T, seen))), false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return __builtin_bit_cast(T, seen);
}
template <class T> MOORE_SIM_UNWATCHED T fetch_min(T* p, T v) {
  return fetch_update<T>(p, [v](T old) __attribute__((no_sanitize("thread"))) { return v < old ? v : old; });
}
template <class T> MOORE_SIM_UNWATCHED T fetch_max(T* p, T v) {
  return fetch_update<T>(p, [v](T old) __attribute__((no_sanitize("thread"))) { return old < v ? v : old; });
}
MOORE_SIM_UNWATCHED unsigned int fetch_increment(unsigned int* p, unsigned int limit) {
  return fetch_update<unsigned int>(p, [limit](unsigned int old) __attribute__((no_sanitize("thread"))) {
    return old >= limit ? 0u : old + 1u;
  });
}
MOORE_SIM_UNWATCHED unsigned int fetch_decrement(unsigned int* p, unsigned int limit) {
  return fetch_update<unsigned int>(p, [limit](unsigned int old) __attribute__((no_sanitize("thread"))) {
    return old == 0u || old > limit ? limit : old - 1u;
  });
}
template <class Word, class F> MOORE_SIM_UNWATCHED F fetch_add_floating(F* p, F v) {
  return fetch_update<Word>(p, [v](F old) __attribute__((no_sanitize("thread"))) { return old + v; });
}

template <class T> __attribute__((always_inline)) inline T* atomic(T* p) {
  atomic_access(p, sizeof(T));
  return p;
}

MOORE_SIM_HEADERS_END

// name, name_block and name_system mean the same here: all host threads are one scope.
#define MOORE_SIM_ATOMIC(name, T, ...) \
  MOORE_SIM_DEVICE T name(T* p, T v) { moore_sim::atomic(p); return __VA_ARGS__; } \
  MOORE_SIM_DEVICE T name##_block(T* p, T v) { moore_sim::atomic(p); return __VA_ARGS__; } \
  MOORE_SIM_DEVICE T name##_system(T* p, T v) { moore_sim::atomic(p); return __VA_ARGS__; }

#define MOORE_SIM_ATOMIC_INTEGER(T) \
  MOORE_SIM_ATOMIC(atomicMin, T, moore_sim::fetch_min(p, v)) \
  MOORE_SIM_ATOMIC(atomicMax, T, moore_sim::fetch_max(p, v)) \
  MOORE_SIM_ATOMIC(atomicAnd, T, moore_sim::fetch_and(p, v)) \
  MOORE_SIM_ATOMIC(atomicOr, T, moore_sim::fetch_or(p, v)) \
  MOORE_SIM_ATOMIC(atomicXor, T, moore_sim::fetch_xor(p, v))
MOORE_SIM_ATOMIC_INTEGER(int)
MOORE_SIM_ATOMIC_INTEGER(unsigned int)
MOORE_SIM_ATOMIC_INTEGER(long long)
MOORE_SIM_ATOMIC_INTEGER(unsigned long long)
#undef MOORE_SIM_ATOMIC_INTEGER

MOORE_SIM_ATOMIC(atomicAdd, int, moore_sim::fetch_add(p, v))
MOORE_SIM_ATOMIC(atomicAdd, unsigned int, moore_sim::fetch_add(p, v))
MOORE_SIM_ATOMIC(atomicAdd, unsigned long long, moore_sim::fetch_add(p, v))
MOORE_SIM_ATOMIC(atomicAdd, float, moore_sim::fetch_add_floating<uint32_t>(p, v))
MOORE_SIM_ATOMIC(atomicAdd, double, moore_sim::fetch_add_floating<uint64_t>(p, v))
MOORE_SIM_ATOMIC(atomicSub, int, moore_sim::fetch_add(p, static_cast<int>(0u - static_cast<unsigned int>(v))))
MOORE_SIM_ATOMIC(atomicSub, unsigned int, moore_sim::fetch_add(p, 0u - v))
MOORE_SIM_ATOMIC(atomicExch, int, moore_sim::exchange(p, v))
MOORE_SIM_ATOMIC(atomicExch, unsigned int, moore_sim::exchange(p, v))
MOORE_SIM_ATOMIC(atomicExch, unsigned long long, moore_sim::exchange(p, v))
MOORE_SIM_ATOMIC(atomicExch, float,
                 __uint_as_float(moore_sim::exchange(reinterpret_cast<unsigned int*>(p), __float_as_uint(v))))
MOORE_SIM_ATOMIC(atomicInc, unsigned int, moore_sim::fetch_increment(p, v))
MOORE_SIM_ATOMIC(atomicDec, unsigned int, moore_sim::fetch_decrement(p, v))
// MOORE_SIM_ATOMIC stays defined: half.h and bfloat16.h add their types.

#define MOORE_SIM_COMPARE_AND_SWAP(name, T) \
  MOORE_SIM_DEVICE T name(T* p, T expected, T desired) { \
    moore_sim::atomic(p); \
    return moore_sim::compare_and_swap(p, expected, desired); \
  }
#define MOORE_SIM_COMPARE_AND_SWAPS(T) \
  MOORE_SIM_COMPARE_AND_SWAP(atomicCAS, T) \
  MOORE_SIM_COMPARE_AND_SWAP(atomicCAS_block, T) MOORE_SIM_COMPARE_AND_SWAP(atomicCAS_system, T)
MOORE_SIM_COMPARE_AND_SWAPS(int)
MOORE_SIM_COMPARE_AND_SWAPS(unsigned int)
MOORE_SIM_COMPARE_AND_SWAPS(unsigned long long)
MOORE_SIM_COMPARE_AND_SWAPS(unsigned short)
#undef MOORE_SIM_COMPARE_AND_SWAP
#undef MOORE_SIM_COMPARE_AND_SWAPS
