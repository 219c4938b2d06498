// -fsanitize=thread turns every atomic operation into a call. These just do it: device code announces its atomics by
// atomic_access, and host code is not watched. Sequential consistency serves every order that was asked for.
#include <cstdint>

#include "moore_sim/runtime.h"

#define TSAN extern "C" MOORE_SIM_API

#define FETCH_HOOK(bits, name)                                                                                \
  TSAN uint##bits##_t __tsan_atomic##bits##_fetch_##name(volatile uint##bits##_t* p, uint##bits##_t v, int) { \
    return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);                                                     \
  }

#define ATOMIC_HOOKS(bits)                                                                                            \
  TSAN uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* p, int) {                             \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                      \
  }                                                                                                                   \
  TSAN void __tsan_atomic##bits##_store(volatile uint##bits##_t* p, uint##bits##_t v, int) {                          \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                         \
  }                                                                                                                   \
  TSAN uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* p, uint##bits##_t v, int) {             \
    return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                   \
  TSAN int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* p, uint##bits##_t* expected,        \
                                                         uint##bits##_t v, int, int) {                                \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
  }                                                                                                                   \
  TSAN int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* p, uint##bits##_t* expected,          \
                                                       uint##bits##_t v, int, int) {                                  \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
  }                                                                                                                   \
  TSAN uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t* p, uint##bits##_t expected, \
                                                                 uint##bits##_t v, int, int) {                        \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                          \
    return expected;                                                                                                  \
  }                                                                                                                   \
  FETCH_HOOK(bits, add)                                                                                               \
  FETCH_HOOK(bits, sub)                                                                                               \
  FETCH_HOOK(bits, and)                                                                                               \
  FETCH_HOOK(bits, or)                                                                                                \
  FETCH_HOOK(bits, xor)                                                                                               \
  FETCH_HOOK(bits, nand)

ATOMIC_HOOKS(8)
ATOMIC_HOOKS(16)
ATOMIC_HOOKS(32)
ATOMIC_HOOKS(64)

TSAN void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
TSAN void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
