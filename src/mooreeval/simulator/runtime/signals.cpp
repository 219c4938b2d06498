// Says what a fault hit: past which allocation, freed memory, device memory from host code, a null pointer, a stack.
#include "signals.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "arena.h"
#include "check.h"
#include "division.h"
#include "findings.h"
#include "naming.h"
#include "report.h"

namespace moore_sim {
namespace {

constexpr size_t SIGNAL_STACK = 64 << 10;

struct Fault {
  Address address, pc;
  const char* verb;
  const char* who;
  Address stack = 0;  // the stack pointer; 0 where this processor is not known
};

// pc is stored as if it were a return address: readers subtract one.
Fault fault_of(const siginfo_t* info, const void* raw_context) {
  Fault f{address_of(info->si_addr), 0, "accesses", in_kernel() ? "the kernel" : "host code"};
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(raw_context)->uc_mcontext.gregs;
  f.pc = static_cast<Address>(registers[REG_RIP]) + 1;
  f.stack = static_cast<Address>(registers[REG_RSP]);
  if (info->si_signo == SIGSEGV || info->si_signo == SIGBUS) f.verb = registers[REG_ERR] & 2 ? "writes" : "reads";
#elif defined(__aarch64__)
  f.pc = static_cast<const ucontext_t*>(raw_context)->uc_mcontext.pc + 1;
  f.stack = static_cast<const ucontext_t*>(raw_context)->uc_mcontext.sp;
#else
  (void)raw_context;
#endif
  return f;
}

// Was a thread of a kernel interrupted, not the scheduler between two of them? Yes where this processor is not known.
bool on_a_threads_stack(const Worker& w, const Fault& f) {
  return f.stack == 0 || (w.fiber_now && w.fiber_now->holds(f.stack));
}

void tell_device_fault(const Fault& f, const Region& r) {
  const auto offset = static_cast<ptrdiff_t>(f.address - r.base);
  const auto bytes = static_cast<ptrdiff_t>(r.bytes);
  const Evidence evidence{.kind = "out_of_bounds", .pc = f.pc};
  static const LaunchState no_launch{};
  const ParameterName name(device_worker ? *device_worker->launch : no_launch, r);
  if (!r.live)
    add_finding(evidence, "%s %s freed device memory (byte %td of an allocation of %zu bytes)%s", f.who, f.verb, offset,
                r.bytes, name.text);
  else if (offset < 0)
    add_finding(evidence, "%s %s %td bytes before an allocation of %zu bytes%s", f.who, f.verb, -offset, r.bytes,
                name.text);
  else if (offset >= bytes)
    add_finding(evidence, "%s %s byte %td of an allocation of %zu bytes%s", f.who, f.verb, offset, r.bytes, name.text);
  else
    add_finding({.kind = "host_access", .pc = f.pc},
                "%s %s device memory (byte %td of an allocation of %zu bytes) outside a launch, copy or operator",
                f.who, f.verb, offset, r.bytes);
}

void tell_shared_fault(const Fault& f, const SharedMemory& shared) {
  char where[240];
  shared.describe_outside(where, sizeof where, f.address, 0);
  add_finding({.kind = "shared_out_of_bounds", .pc = f.pc}, "%s %s memory %s", f.who, f.verb, where);
}

Address innermost_foreign_frame(Address interrupted);
Address recursive_call(Address interrupted);

bool told_before(const Fault& f) { return settings.check && f.address - check::told_address < check::told_bytes; }

void tell_bad_access(const Fault& f, bool protection_fault) {
  const Worker* w = device_worker;
  if (protection_fault)
    add_finding({.kind = "misaligned", .pc = f.pc}, "%s accesses memory through a misaligned or impossible address",
                f.who);
  else if (w && w->fiber_now && w->fiber_now->guard_holds(f.address))
    add_finding({.kind = "stack_overflow", .pc = recursive_call(f.pc)}, "a device thread uses more than %zu KiB of stack",
                STACK_BYTES >> 10);
  else if (told_before(f))
    return;
  else if (const Region* r = nearest_region(f.address))
    tell_device_fault(f, *r);
  else if (w && w->shared.holds(f.address))
    tell_shared_fault(f, w->shared);
  else if (f.address < PAGE)
    add_finding({.kind = w ? "out_of_bounds" : "trap", .pc = f.pc}, "%s %s through a null pointer (address 0x%zx)",
                f.who, f.verb, static_cast<size_t>(f.address));
  else
    add_finding({.kind = w ? "out_of_bounds" : "trap", .pc = f.pc},
                "%s %s address 0x%zx, which belongs to no allocation", f.who, f.verb, static_cast<size_t>(f.address));
}

void on_bad_access(int, siginfo_t* info, void* context) {
  // The processor reports a protection fault, unlike a page fault, without an address.
  const bool protection_fault = info->si_signo == SIGSEGV && info->si_code == SI_KERNEL;
  if (!protection_fault && open_on_fault(address_of(info->si_addr))) return;
  Fault fault = fault_of(info, context);
  if (!in_kernel()) fault.pc = innermost_foreign_frame(fault.pc);  // memcpy and its kin fault on somebody's behalf
  tell_bad_access(fault, protection_fault);
  report_and_leave(EXIT_BAD_ACCESS);
}

void on_trap(int signal, siginfo_t* info, void* context) {
  const Fault f = fault_of(info, context);
  const char* what = signal == SIGFPE   ? "divides an integer by zero (or the least integer by -1)"
                     : signal == SIGILL ? "ran into an illegal instruction"
                                        : "called abort";
  add_finding({.kind = "trap", .pc = signal == SIGABRT ? innermost_foreign_frame(f.pc) : f.pc}, "%s %s", f.who, what);
  report_and_leave(EXIT_TRAP);
}

void on_arithmetic_fault(int signal, siginfo_t* info, void* context) {
  const Fault f = fault_of(info, context);
  bool by_zero = false;
  if (!in_kernel() || !finish_division(context, by_zero)) on_trap(signal, info, context);
  add_finding({.kind = "trap", .error = false, .pc = f.pc}, "%s; on a GPU the result is undefined",
              by_zero ? "an integer is divided by zero" : "the least integer is divided by -1");
}

bool is_ours_or_libc(const char* file) { return strstr(file, "libmoore_sim") || strstr(file, "/libc.so"); }

bool is_foreign(void* place) {
  Dl_info where{};
  return dladdr(place, &where) && where.dli_fname && !is_ours_or_libc(where.dli_fname);
}

// The interrupted frame and its callers, as return addresses (of the interrupted one: its instruction plus one).
template <class Visit>
Address first_frame(Address interrupted, Visit is_wanted) {
  void* frames[48];
  const int count = backtrace(frames, 48);
  bool below_signal = false;
  for (int i = 0; i < count; ++i) {
    const Address frame = address_of(frames[i]);
    const bool innermost = !below_signal && frame == interrupted - 1;
    below_signal |= innermost;
    if (below_signal && is_wanted(frames + i, count - i)) return innermost ? interrupted : frame;
  }
  return interrupted;
}

// The innermost frame that is the candidate's: a kernel in check mode is mostly found inside a hook of ours.
Address innermost_foreign_frame(Address interrupted) {
  return first_frame(interrupted, [](void* const* frames, int) { return is_foreign(*frames); });
}

// The one that called it: what the innermost frame does may be written in a header of ours. 0 where there is none.
Address next_foreign_frame(Address interrupted) {
  bool passed = false;
  const Address found = first_frame(interrupted, [&passed](void* const* frames, int) {
    return is_foreign(*frames) && std::exchange(passed, true);
  });
  return found == interrupted ? 0 : found;
}

// Where a function calls itself, at once or through others: which instruction met the stack's end is chance.
Address recursive_call(Address interrupted) {
  return first_frame(interrupted, [](void* const* frames, int count) {
    return std::count(frames, frames + count, *frames) > 1;
  });
}

// How far a kernel has come: no two moments are alike between which a thread or a block ended.
struct Progress {
  uint64_t launch, block;
  int alive, started;
  bool operator==(const Progress&) const = default;
};

// The run child's alarm rings twice: at half time, and when the time is nearly over. A kernel in which nothing has ended
// in between hangs; one that went on is only slow, and a CPU's time says nothing against it. Outside kernels the judge's
// deadline decides.
bool half_time_is_over = false;
Progress before{};

// A kernel whose threads wait for one another is often between two of them when an alarm rings, where there is no line
// to tell. Then it rings again a moment later; the judge's deadline leaves a second for that.
constexpr int MOST_TRIES = 100;
constexpr suseconds_t RETRY_MICROSECONDS = 3000;
int tries = 0;
itimerval until_next{};

bool ring_again() {
  if (tries == MOST_TRIES) return false;
  if (tries++ == 0) getitimer(ITIMER_REAL, &until_next);
  const itimerval soon{until_next.it_interval, {0, RETRY_MICROSECONDS}};
  return setitimer(ITIMER_REAL, &soon, nullptr) == 0;
}

void on_time_over(int, siginfo_t* info, void* context) {
  const Worker* w = device_worker;
  const Fault moment = fault_of(info, context);
  if (!(w && on_a_threads_stack(*w, moment)) && ring_again()) return;
  const Progress now = w ? Progress{w->launch_number, w->block, w->alive, w->started} : Progress{};
  if (!half_time_is_over) {
    half_time_is_over = true, before = now;
    if (tries) setitimer(ITIMER_REAL, &until_next, nullptr);
    tries = 0;
    return;
  }
  if (!w) return;
  if (now != before) unsupported("simulation time");
  const Address place = innermost_foreign_frame(moment.pc);
  if (!is_foreign(reinterpret_cast<void*>(place - 1)) && ring_again()) return;
  add_finding({.kind = "hang", .pc = place, .other_pc = next_foreign_frame(moment.pc)},
              "still running when the time was over, and no thread has ended in the last half of it");
  report_and_leave(EXIT_TIME_OVER);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void expect_alarms() { half_time_is_over = false, tries = 0; }

void give_signal_stack() {
  static __thread bool given __attribute__((tls_model("initial-exec"))) = false;
  if (given) return;
  void* map = mmap(nullptr, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = map;
  stack.ss_size = SIGNAL_STACK;
  given = sigaltstack(&stack, nullptr) == 0;
}

void install_signal_handlers() {
  static bool installed = false;
  if (installed) return give_signal_stack();
  installed = true;
  for (const int signal : {SIGSEGV, SIGBUS}) handle(signal, on_bad_access);
  for (const int signal : {SIGILL, SIGABRT}) handle(signal, on_trap);
  handle(SIGFPE, on_arithmetic_fault);
  handle(SIGALRM, on_time_over);
  void* frame;
  backtrace(&frame, 1);  // loads what it needs now, not inside a handler
  give_signal_stack();
}

}  // namespace moore_sim
