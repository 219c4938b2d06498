// gpuAtomicAdd and its relatives: atomics for every scalar type of PyTorch.
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>

#include "moore_sim/bfloat16.h"
#include "moore_sim/device.h"
#include "moore_sim/half.h"

MOORE_SIM_HEADERS_BEGIN
template <size_t Bytes> struct WordOfSize;
template <> struct WordOfSize<1> { using type = uint8_t; };
template <> struct WordOfSize<2> { using type = uint16_t; };
template <> struct WordOfSize<4> { using type = uint32_t; };
template <> struct WordOfSize<8> { using type = uint64_t; };

// One object changed by a function of its old value.
template <class T, class F> __attribute__((always_inline)) inline T atomic_update(T* p, F next) {
  atomic(p);
  return fetch_update<typename WordOfSize<sizeof(T)>::type>(p, next);
}
MOORE_SIM_HEADERS_END

#define MOORE_SIM_GPU_ATOMIC(name, expression) \
  template <class T> MOORE_SIM_DEVICE T name(T* p, std::type_identity_t<T> v) { \
    return moore_sim::atomic_update(p, [v](T old) __attribute__((no_sanitize("thread"))) -> T { return expression; }); \
  }
MOORE_SIM_GPU_ATOMIC(gpuAtomicAdd, old + v)
MOORE_SIM_GPU_ATOMIC(gpuAtomicMul, old * v)
MOORE_SIM_GPU_ATOMIC(gpuAtomicMax, old != old || !(old < v || v != v) ? old : v)
MOORE_SIM_GPU_ATOMIC(gpuAtomicMin, old != old || !(v < old || v != v) ? old : v)
#undef MOORE_SIM_GPU_ATOMIC
template <class T> MOORE_SIM_DEVICE void gpuAtomicAddNoReturn(T* p, std::type_identity_t<T> v) { gpuAtomicAdd(p, v); }
// A complex number's parts are added one by one, as PyTorch does.
template <class T> MOORE_SIM_DEVICE c10::complex<T> gpuAtomicAdd(c10::complex<T>* p, c10::complex<T> v) {
  T* parts = reinterpret_cast<T*>(p);
  const T real = gpuAtomicAdd(parts, v.real_);
  return {real, gpuAtomicAdd(parts + 1, v.imag_)};
}

// PyTorch adds overloads of atomicAdd for the types that CUDA has none for.
#define MOORE_SIM_TORCH_ATOMIC_ADD(T) MOORE_SIM_DEVICE T atomicAdd(T* p, T v) { return gpuAtomicAdd(p, v); }
MOORE_SIM_TORCH_ATOMIC_ADD(unsigned char)
MOORE_SIM_TORCH_ATOMIC_ADD(signed char)
MOORE_SIM_TORCH_ATOMIC_ADD(short)
MOORE_SIM_TORCH_ATOMIC_ADD(long)
MOORE_SIM_TORCH_ATOMIC_ADD(bool)
MOORE_SIM_TORCH_ATOMIC_ADD(c10::Half)
MOORE_SIM_TORCH_ATOMIC_ADD(c10::BFloat16)
#undef MOORE_SIM_TORCH_ATOMIC_ADD
