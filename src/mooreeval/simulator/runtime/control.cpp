// The run time of simulated CUDA: libmoore_sim.so. Build all files of this folder together, without sanitizers:
//   g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -pthread -Wl,-Bsymbolic-functions -I ../include *.cpp -o
//   libmoore_sim.so -ldl
// (-DMOORE_SIM_UCONTEXT forces the portable context switch.) Candidates are compiled with
//   -fsanitize=thread,alignment --param=tsan-distinguish-volatile=1 -g1
// and linked without -fsanitize, with -Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove and this library.
//
// control.cpp   the C interface, errors, ways out      launch.cpp    validation, host threads
// schedule.cpp  threads of a block on fibers           fiber.cpp     the context switch, stacks
// barrier.cpp   __syncthreads and votes                warp.cpp      warp operations, stalls, deadlock
// arena.cpp     device memory with guard pages         shared_memory.cpp  __shared__ memory
// hooks*.cpp    what the compiler's instrumentation calls
// check.cpp     bounds and kinds of memory             races.cpp, clocks.cpp, shadow.cpp   the race detector
// modules.cpp   __device__ variables                   sites.cpp     numbers for code addresses
// findings.cpp  what was found, what was launched      report.cpp    JSON
// host_traffic.cpp  what goes to the host and comes from it
// signals.cpp   faults                                 division.cpp  integer division by zero
#include <atomic>
#include <mutex>

#include "arena.h"
#include "findings.h"
#include "host_traffic.h"
#include "report.h"
#include "signals.h"
#include "worker.h"

namespace moore_sim {

Settings settings;

namespace {

std::atomic<int> last_cuda_error{0};
std::atomic<size_t> dynamic_limit{SHARED_DEFAULT_LIMIT};

}  // namespace

int last_error(bool clear) { return clear ? last_cuda_error.exchange(0) : last_cuda_error.load(); }
void set_error(int error) { last_cuda_error = error; }

// CUDA keeps the limit per kernel; one for all refuses nothing that CUDA accepts.
void set_max_dynamic_shared(size_t bytes) {
  dynamic_limit = std::max(dynamic_limit.load(), std::min(bytes, SHARED_OPT_IN_LIMIT));
}
size_t shared_memory_limit() { return dynamic_limit; }

void report(const char* kind, const char* message) {
  add_finding({.kind = kind, .pc = address_of(__builtin_return_address(0))}, "%s", message);
}

void trap(const char* message, const void* caller) {
  add_finding({.kind = "trap", .pc = address_of(caller ? caller : __builtin_return_address(0))}, "%s", message);
  report_and_leave(EXIT_TRAP);
}

void unsupported(const char* feature) {
  remember_unsupported(feature);
  report_and_leave(EXIT_UNSUPPORTED);
}

}  // namespace moore_sim

using namespace moore_sim;

void moore_sim_configure(int order, uint64_t seed, int threads, int check, uint64_t check_budget) {
  settings.order = order, settings.seed = seed, settings.threads = threads;
  settings.check = check != 0, settings.check_budget = check_budget;
  expect_alarms();
}

void moore_sim_hold_launches(int hold) { settings.hold = hold != 0; }

void moore_sim_install(int report_fd) {
  settings.report_fd = report_fd;
  install_signal_handlers();
}

void moore_sim_limit_memory(uint64_t bytes) { limit_device_memory(bytes); }

const char* moore_sim_report() {
  static std::string text;
  text = report_as_text();
  return text.c_str();
}

// For the run child: does the allocation that holds this address hold what a watched kernel wrote?
extern "C" MOORE_SIM_API int moore_sim_holds_own_work(const void* pointer) {
  const Region* r = region_at(address_of(pointer));
  return r && r->own_work;
}

// And has any of that gone to the host, or where it is not followed, since the last reset?
extern "C" MOORE_SIM_API int moore_sim_host_saw_own_work() { return host_saw_own_work(); }

void moore_sim_reset() {
  ++resets;
  forget_findings();
  statistics = {};
  forget_host_work();
  forget_host_traffic();
  last_error(true);
}
