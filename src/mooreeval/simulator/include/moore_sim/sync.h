// Barriers, fences, clocks, and the ways a kernel gives up.
#pragma once

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "moore_sim/qualifiers.h"

MOORE_SIM_DEVICE void __syncthreads() { moore_sim::barrier(); }
MOORE_SIM_DEVICE int __syncthreads_count(int predicate) {
  return moore_sim::barrier_vote(moore_sim::Vote::COUNT, predicate);
}
MOORE_SIM_DEVICE int __syncthreads_and(int predicate) {
  return moore_sim::barrier_vote(moore_sim::Vote::AND, predicate);
}
MOORE_SIM_DEVICE int __syncthreads_or(int predicate) { return moore_sim::barrier_vote(moore_sim::Vote::OR, predicate); }
MOORE_SIM_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) {
  moore_sim::warp_op(moore_sim::WarpOp::SYNC, mask, 0, {});
}
MOORE_SIM_DEVICE void __threadfence() { moore_sim::fence(); }
MOORE_SIM_DEVICE void __threadfence_block() { moore_sim::fence(); }
MOORE_SIM_DEVICE void __threadfence_system() { moore_sim::fence(); }

// A monotonic counter: time is not modelled, and differences of it mean nothing beyond their sign.
MOORE_SIM_DEVICE long long int clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}
MOORE_SIM_DEVICE unsigned long long __globaltimer() { return static_cast<unsigned long long>(clock64()); }
MOORE_SIM_DEVICE void __nanosleep(unsigned int) {}

MOORE_SIM_DEVICE void __trap() { moore_sim::trap("__trap()"); }
MOORE_SIM_DEVICE void __brkpt() { moore_sim::trap("__brkpt()"); }
MOORE_SIM_DEVICE void __builtin_assume(bool) {}
MOORE_SIM_DEVICE void __assume(bool) {}

// assert() of the C library ends in __assert_fail. This one is found first by the linker because it is hidden; in host
// code it behaves as the original. Not inlined: its return address is the line of the assertion.
extern "C" [[noreturn]] __attribute__((visibility("hidden"), noinline)) inline void __assert_fail(
    const char* assertion, const char* file, unsigned int line, const char* function) noexcept {
  char message[512];
  std::snprintf(message, sizeof message, "assertion `%s' failed in %s", assertion, function);
  if (moore_sim::in_kernel()) moore_sim::trap(message, __builtin_return_address(0));
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
  std::abort();
}
