// One host thread that runs blocks: the state of the block that it runs now, and its fibers.
#pragma once
#include <array>
#include <atomic>
#include <vector>

#include "fiber.h"
#include "moore_sim/runtime.h"
#include "settings.h"
#include "shared_memory.h"

namespace moore_sim {

inline constexpr int WARP = 32;
inline constexpr int MAX_THREADS = 1024;
inline constexpr int MAX_WARPS = MAX_THREADS / WARP;

// One launch; the same for all workers that take part.
struct LaunchState {
  const char *kernel, *parameters;  // its name, and those of its parameters
  Arguments arguments;
  dim3 grid, block;
  size_t dynamic_bytes;
  void (*body)(void*);
  void* closure;
  size_t closure_bytes;
  Address host_stack_low, host_stack_high;  // of the launching thread
  int threads;                              // of a block
  uint64_t blocks, number;
  std::vector<uint3> coordinates;  // threadIdx of every linear index
  std::atomic<uint64_t> next_position{0};
  std::atomic<bool> abandoned{false};  // after a deadlock
};

enum class State : uint8_t { FRESH, RUNNING, READY, AT_BARRIER, IN_WARP_OP, DONE };

// What a lane that waits in a warp operation asked for.
struct Lane {
  WarpOp op;
  unsigned mask;
  int source;
  Exchange in, out;
};

struct Warp {
  unsigned alive = 0;    // lanes that have not exited
  unsigned waiting = 0;  // lanes in a warp operation
};

struct Votes {
  int count = 0, all = 1, any = 0;
};

struct Worker {
  const LaunchState* launch = nullptr;
  uint64_t launch_number = 0, block = 0;
  uint3 block_coordinates{};
  bool watched = false;  // check mode looks at this block

  int threads = 0, alive = 0, started = 0, running = -1;
  std::vector<State> state;
  std::vector<Fiber*> fiber;  // of a suspended thread
  std::vector<Lane> lane;
  std::vector<Address> waits_at;  // return address of the call that a thread waits in
  std::vector<int> order;         // in which threads start, and continue after a barrier
  std::vector<int> ready;         // ring of threads that may continue
  size_t ready_first = 0, ready_count = 0;
  int atomics_in_a_row = 0;  // by the running thread, since it last continued
  bool fresh_first = false;  // some thread yielded: all must have begun before one continues
  std::array<Warp, MAX_WARPS> warps;

  int at_barrier = 0;
  Address barrier_at = 0;  // call of the first thread that arrived
  int barrier_first = -1;  // that thread
  Votes votes, vote_result;

  SharedMemory shared;
  Context scheduler{};
  Fiber* fiber_now = nullptr;
  std::vector<Fiber*> idle;
  Random random;

  const uint3& coordinates(int thread) const { return launch->coordinates[static_cast<size_t>(thread)]; }
  void make_ready(int thread) {
    state[static_cast<size_t>(thread)] = State::READY;
    ready[(ready_first + ready_count++) % static_cast<size_t>(threads)] = thread;
  }
};

// The worker of this host thread while device code runs on it, else null. `watching`: hooks look at accesses.
extern __thread Worker* device_worker __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern __thread bool watching __attribute__((tls_model("initial-exec"), visibility("hidden")));
const char* running_kernel();

void run_block(Worker& worker, const LaunchState& launch, uint64_t position);
// Suspends the running thread in `state` (unless it was made ready already); returns when its turn comes.
void suspend(Worker& worker, State state);

// Scheduling points of threads that share memory without barriers: volatile accesses of shared memory, and many
// atomics in a row, which may be a wait for another thread of the block.
void yield_to_warp(Worker& worker);
void yield_when_spinning(Worker& worker);

// Called when `thread` has exited: others may have waited for it alone.
void leave_barrier(Worker& worker);
void leave_warp(Worker& worker, int thread);
// Nothing can run: lets the lanes of one warp operation go on without those that never come. False where there is none.
bool release_stalled_warp(Worker& worker);
void tell_deadlock(Worker& worker);

}  // namespace moore_sim
