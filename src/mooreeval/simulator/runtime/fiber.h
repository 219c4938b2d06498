// Flows of control of simulated threads: a stack each, and a switch between them.
#pragma once
#include "settings.h"

#if !defined(__x86_64__) && !defined(MOORE_SIM_UCONTEXT)
#define MOORE_SIM_UCONTEXT  // the only hand-written switch is for x86-64
#endif
#ifdef MOORE_SIM_UCONTEXT
#include <ucontext.h>
#endif

namespace moore_sim {

// A suspended flow of control.
struct Context {
#ifdef MOORE_SIM_UCONTEXT
  ucontext_t saved;
#else
  void* stack_pointer = nullptr;
#endif
};
// Makes `context` begin in `entry`, which never returns, on a stack of `bytes` from `stack` on.
void prepare(Context& context, char* stack, size_t bytes, void (*entry)());
void switch_to(Context& from, Context& to);

inline constexpr size_t STACK_BYTES = 256 << 10;
inline constexpr size_t STACK_GUARD = 64 << 10;  // wide, so that one big frame does not step over it

struct Fiber {
  Context context;
  Address stack = 0;  // lowest usable byte; the guard lies below
  bool holds(Address a) const { return a - stack < STACK_BYTES; }
  bool guard_holds(Address a) const { return a < stack && stack - a <= STACK_GUARD; }
};
// A fiber that will begin in `entry`; nullptr when the host has no memory for its stack.
Fiber* make_fiber(void (*entry)());
void restart_fiber(Fiber& fiber, void (*entry)());

}  // namespace moore_sim
