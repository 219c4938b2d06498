// What -fsanitize=thread and -fsanitize=alignment call. The same build serves watched and unwatched runs: a hook
// that has nothing to do is a load and a branch. Host code of the candidate comes here too.
#include "check.h"
#include "findings.h"
#include "worker.h"

using moore_sim::address_of;
using moore_sim::watching;
namespace check = moore_sim::check;

namespace moore_sim {
namespace {

// Old warp-synchronous code shares memory through volatile and relies on lanes running in step. A thread that lets the
// others of its warp have their turn at every volatile access of shared memory runs in step with them.
void volatile_access(void* pointer, size_t bytes, bool write, Address pc) {
  Worker& w = *device_worker;
  if (w.shared.holds(address_of(pointer)))
    yield_to_warp(w);
  else
    yield_when_spinning(w);
  if (watching) check::access(address_of(pointer), bytes, bytes, {.write = write, .is_volatile = true}, pc);
}

}  // namespace
}  // namespace moore_sim

#define PC address_of(__builtin_return_address(0))
#define HOOK extern "C" MOORE_SIM_API void

#define ACCESS_HOOKS(bytes)                                                        \
  HOOK __tsan_read##bytes(void* p) {                                               \
    if (watching) check::access(address_of(p), bytes, bytes, {}, PC);              \
  }                                                                                \
  HOOK __tsan_write##bytes(void* p) {                                              \
    if (watching) check::access(address_of(p), bytes, bytes, {.write = true}, PC); \
  }                                                                                \
  HOOK __tsan_unaligned_read##bytes(void* p) {                                     \
    if (watching) check::access(address_of(p), bytes, 1, {}, PC);                  \
  }                                                                                \
  HOOK __tsan_unaligned_write##bytes(void* p) {                                    \
    if (watching) check::access(address_of(p), bytes, 1, {.write = true}, PC);     \
  }                                                                                \
  HOOK __tsan_volatile_read##bytes(void* p) {                                      \
    if (moore_sim::device_worker) moore_sim::volatile_access(p, bytes, false, PC); \
  }                                                                                \
  HOOK __tsan_volatile_write##bytes(void* p) {                                     \
    if (moore_sim::device_worker) moore_sim::volatile_access(p, bytes, true, PC);  \
  }                                                                                \
  HOOK __tsan_unaligned_volatile_read##bytes(void* p) {                            \
    if (moore_sim::device_worker) moore_sim::volatile_access(p, bytes, false, PC); \
  }                                                                                \
  HOOK __tsan_unaligned_volatile_write##bytes(void* p) {                           \
    if (moore_sim::device_worker) moore_sim::volatile_access(p, bytes, true, PC);  \
  }

ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)

HOOK __tsan_read_range(void* p, size_t bytes) {
  if (watching) check::access(address_of(p), bytes, 1, {}, PC);
}
HOOK __tsan_write_range(void* p, size_t bytes) {
  if (watching) check::access(address_of(p), bytes, 1, {.write = true}, PC);
}
HOOK __tsan_vptr_update(void** p, void*) {
  if (watching) check::access(address_of(p), sizeof(void*), sizeof(void*), {.write = true}, PC);
}
HOOK __tsan_vptr_read(void** p) {
  if (watching) check::access(address_of(p), sizeof(void*), sizeof(void*), {}, PC);
}
HOOK __tsan_init() {}
HOOK __tsan_func_entry(void*) {}
HOOK __tsan_func_exit() {}

namespace moore_sim {
namespace {

// Laid out as the compiler emits them.
struct TypeName {
  uint16_t kind, info;
  char text[1];
};
struct MisuseSite {
  const char* file;
  uint32_t line, column;
  const TypeName* type;
  unsigned char log_alignment, check_kind;
};

void tell_misaligned(const MisuseSite& site, Address pointer, Address pc) {
  const size_t alignment = size_t{1} << site.log_alignment;
  if (!device_worker || pointer % alignment == 0) return;
  add_finding({.kind = "misaligned", .pc = pc},
              "access as %s at an address that is no multiple of %zu (%zu bytes past one)", site.type->text, alignment,
              static_cast<size_t>(pointer % alignment));
}

}  // namespace
}  // namespace moore_sim

HOOK __ubsan_handle_type_mismatch_v1(moore_sim::MisuseSite* site, uintptr_t pointer) {
  moore_sim::tell_misaligned(*site, pointer, PC);
}
HOOK __ubsan_handle_type_mismatch_v1_abort(moore_sim::MisuseSite* site, uintptr_t pointer) {
  moore_sim::tell_misaligned(*site, pointer, PC);
}

// The builder links candidates with --wrap for these.
extern "C" MOORE_SIM_API void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  if (watching)
    check::access(address_of(from), bytes, 1, {}, PC), check::access(address_of(to), bytes, 1, {.write = true}, PC);
  return memcpy(to, from, bytes);
}
extern "C" MOORE_SIM_API void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  if (watching)
    check::access(address_of(from), bytes, 1, {}, PC), check::access(address_of(to), bytes, 1, {.write = true}, PC);
  return memmove(to, from, bytes);
}
extern "C" MOORE_SIM_API void* __wrap_memset(void* to, int value, size_t bytes) {
  if (watching) check::access(address_of(to), bytes, 1, {.write = true}, PC);
  return memset(to, value, bytes);
}

namespace moore_sim {

void atomic_access(const void* pointer, unsigned bytes) {
  if (!device_worker) return;
  yield_when_spinning(*device_worker);
  if (watching) check::access(address_of(pointer), bytes, bytes, {.write = true, .atomic = true}, PC);
}

void fence() {
  if (watching) check::fence();
}

}  // namespace moore_sim
