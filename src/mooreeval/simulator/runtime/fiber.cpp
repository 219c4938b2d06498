// The context switch and guarded stacks.
#include "fiber.h"

#include <sys/mman.h>

namespace moore_sim {

#ifdef MOORE_SIM_UCONTEXT

void prepare(Context& context, char* stack, size_t bytes, void (*entry)()) {
  getcontext(&context.saved);
  context.saved.uc_stack.ss_sp = stack;
  context.saved.uc_stack.ss_size = bytes;
  context.saved.uc_link = nullptr;
  makecontext(&context.saved, entry, 0);
}

void switch_to(Context& from, Context& to) { swapcontext(&from.saved, &to.saved); }

#else

// Saves the registers that the System V ABI lets a callee rely on, swaps stacks, and returns on the other one.
extern "C" __attribute__((visibility("hidden"))) void moore_sim_switch_stacks(void** save, void* load);
asm(R"(
  .text
  .hidden moore_sim_switch_stacks
  .globl moore_sim_switch_stacks
  .type moore_sim_switch_stacks, @function
moore_sim_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size moore_sim_switch_stacks, . - moore_sim_switch_stacks
)");

// The stack looks as if `entry` had been about to be called, with a null return address that ends every unwinding.
void prepare(Context& context, char* stack, size_t bytes, void (*entry)()) {
  constexpr int SAVED_REGISTERS = 6;
  void** top = reinterpret_cast<void**>(stack + bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < SAVED_REGISTERS; ++i) *--top = nullptr;
  context.stack_pointer = top;
}

void switch_to(Context& from, Context& to) { moore_sim_switch_stacks(&from.stack_pointer, to.stack_pointer); }

#endif

Fiber* make_fiber(void (*entry)()) {
  void* map = mmap(nullptr, STACK_GUARD + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  char* stack = static_cast<char*>(map) + STACK_GUARD;
  if (mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE) != 0) return munmap(map, STACK_GUARD + STACK_BYTES), nullptr;
  auto* fiber = new Fiber;
  fiber->stack = address_of(stack);
  restart_fiber(*fiber, entry);
  return fiber;
}

void restart_fiber(Fiber& fiber, void (*entry)()) {
  prepare(fiber.context, reinterpret_cast<char*>(fiber.stack), STACK_BYTES, entry);
}

}  // namespace moore_sim
