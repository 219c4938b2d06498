// Runs one block. A fiber runs threads of the block back to back; only a thread that has to wait keeps the fiber it is
// on, and the next ones run on another. A kernel without barriers needs one fiber for all its threads.
#include <algorithm>
#include <numeric>

#include "check.h"
#include "findings.h"
#include "worker.h"

namespace moore_sim {

__thread Coordinates current __attribute__((tls_model("initial-exec"))) = {};
MOORE_SIM_NAME_COORDINATES
MOORE_SIM_NAME_COORDINATES
__thread Worker* device_worker __attribute__((tls_model("initial-exec"), visibility("hidden"))) = nullptr;
__thread bool watching __attribute__((tls_model("initial-exec"), visibility("hidden"))) = false;

namespace {

// Compilers may keep the address of a thread-local across a switch; a fiber stays on its host thread, so that is right.
void set_running(Worker& w, int thread) {
  w.running = thread;
  w.atomics_in_a_row = 0;
  w.state[static_cast<size_t>(thread)] = State::RUNNING;
  current.thread = w.coordinates(thread);
}

void finish_thread(Worker& w) {
  const int thread = w.running;
  if (w.watched) check::settle();
  w.state[static_cast<size_t>(thread)] = State::DONE;
  --w.alive;
  leave_warp(w, thread);
  leave_barrier(w);
}

void run_thread(Worker& w, int thread) {
  set_running(w, thread);
  try {
    w.launch->body(w.launch->closure);
  } catch (...) {
    trap("a C++ exception left a kernel");
  }
  finish_thread(w);
}

// Threads that may continue go before threads that have not started, so that few fibers are in use at a time.
bool fresh_thread_is_next(const Worker& w) { return w.started < w.threads && (w.ready_count == 0 || w.fresh_first); }

void fiber_main() {
  for (;;) {
    Worker& w = *device_worker;
    while (fresh_thread_is_next(w)) run_thread(w, w.order[static_cast<size_t>(w.started++)]);
    Fiber* own = w.fiber_now;
    w.idle.push_back(own);
    switch_to(own->context, w.scheduler);
  }
}

Fiber* idle_fiber(Worker& w) {
  if (w.idle.empty()) {
    Fiber* fresh = make_fiber(fiber_main);
    if (!fresh) unsupported("so many waiting threads (the host has no memory for their stacks)");
    return fresh;
  }
  Fiber* fiber = w.idle.back();
  w.idle.pop_back();
  return fiber;
}

void resume(Worker& w, Fiber* fiber) {
  w.fiber_now = fiber;
  device_worker = &w;
  watching = w.watched && check::has_budget();
  switch_to(w.scheduler, fiber->context);
  watching = false;
  device_worker = nullptr;
}

Fiber* next_ready(Worker& w) {
  const int thread = w.ready[w.ready_first];
  w.ready_first = (w.ready_first + 1) % static_cast<size_t>(w.threads);
  --w.ready_count;
  return w.fiber[static_cast<size_t>(thread)];
}

void order_threads(Worker& w) {
  w.order.resize(static_cast<size_t>(w.threads));
  std::iota(w.order.begin(), w.order.end(), 0);
  if (settings.order == MOORE_SIM_REVERSE) std::reverse(w.order.begin(), w.order.end());
  if (settings.order == MOORE_SIM_RANDOM) w.random.shuffle(w.order.data(), w.order.size());
}

void begin_warps(Worker& w) {
  const int warps = (w.threads + WARP - 1) / WARP;
  for (int i = 0; i < warps; ++i) {
    const int lanes = std::min(WARP, w.threads - i * WARP);
    w.warps[static_cast<size_t>(i)] = {lanes == WARP ? ~0u : (1u << lanes) - 1, 0};
  }
}

// Only what the last launch left differently: blocks of one launch share sizes and, unless random, the order.
void begin_launch(Worker& w, const LaunchState& launch) {
  w.launch = &launch, w.launch_number = launch.number, w.threads = launch.threads;
  const size_t n = static_cast<size_t>(launch.threads);
  w.fiber.resize(n), w.lane.resize(n), w.waits_at.resize(n), w.ready.resize(n);
  w.shared.begin_launch(launch.dynamic_bytes);
  order_threads(w);
  current.block_dim = launch.block, current.grid_dim = launch.grid;
}

uint64_t feistel(uint64_t value, int half_bits, uint64_t key) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits, right = value & mask;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t next = left ^ (mix(right, key + round) & mask);
    left = right, right = next;
  }
  return (left << half_bits) | right;
}

// A permutation of 0..count-1 that needs no table: grids can have more blocks than memory has bytes.
uint64_t shuffled(uint64_t position, uint64_t count, uint64_t key) {
  int half_bits = 1;
  while ((uint64_t{1} << (2 * half_bits)) < count) ++half_bits;
  do position = feistel(position, half_bits, key);
  while (position >= count);
  return position;
}

uint64_t block_at(const LaunchState& launch, uint64_t position) {
  if (settings.order == MOORE_SIM_REVERSE) return launch.blocks - 1 - position;
  if (settings.order == MOORE_SIM_RANDOM) return shuffled(position, launch.blocks, mix(settings.seed, launch.number));
  return position;
}

void begin_block(Worker& w, const LaunchState& launch, uint64_t position) {
  if (w.launch_number != launch.number) begin_launch(w, launch);
  w.block = block_at(launch, position);
  const uint64_t gx = launch.grid.x, gy = launch.grid.y;
  w.block_coordinates = {static_cast<unsigned>(w.block % gx), static_cast<unsigned>(w.block / gx % gy),
                         static_cast<unsigned>(w.block / gx / gy)};
  current.block = w.block_coordinates;
  w.random = Random(mix(mix(settings.seed, launch.number), w.block));
  if (settings.order == MOORE_SIM_RANDOM) order_threads(w);
  w.state.assign(static_cast<size_t>(w.threads), State::FRESH);
  w.alive = w.threads, w.started = 0, w.fresh_first = false;
  w.ready_first = w.ready_count = 0;
  w.at_barrier = 0, w.barrier_at = 0, w.votes = Votes{};
  begin_warps(w);
  w.watched = settings.check && check::begin_block(w, position);
  w.shared.begin_block(w.watched);
}

// Device code owns nothing that must be destroyed, so the stacks of threads that will never continue are just reused.
void abandon_block(Worker& w) {
  for (int t = 0; t < w.started; ++t) {
    const State state = w.state[static_cast<size_t>(t)];
    if (state == State::DONE || state == State::FRESH) continue;
    restart_fiber(*w.fiber[static_cast<size_t>(t)], fiber_main);
    w.idle.push_back(w.fiber[static_cast<size_t>(t)]);
  }
}

void check_red_zones(Worker& w) {
  device_worker = &w;  // so that the finding names kernel and block
  w.shared.check_red_zones();
  device_worker = nullptr;
}

}  // namespace

void suspend(Worker& w, State state) {
  const int thread = w.running;
  Fiber* own = w.fiber_now;
  if (w.watched) check::settle();
  w.fiber[static_cast<size_t>(thread)] = own;
  State& now = w.state[static_cast<size_t>(thread)];
  if (now == State::RUNNING) now = state;
  switch_to(own->context, w.scheduler);
  set_running(w, thread);
}

void yield_to_warp(Worker& w) {
  w.make_ready(w.running);
  w.fresh_first = true;
  suspend(w, State::READY);
}

void yield_when_spinning(Worker& w) {
  constexpr int PATIENCE = 1000;
  if (++w.atomics_in_a_row >= PATIENCE) yield_to_warp(w);
}

void run_block(Worker& w, const LaunchState& launch, uint64_t position) {
  begin_block(w, launch, position);
  while (w.alive > 0) {
    if (fresh_thread_is_next(w))
      resume(w, idle_fiber(w));
    else if (w.ready_count > 0)
      resume(w, next_ready(w));
    else if (!release_stalled_warp(w)) {
      tell_deadlock(w);
      abandon_block(w);
      const_cast<LaunchState&>(launch).abandoned = true;
      break;
    }
  }
  if (w.watched)
    check::end_block(w);
  else
    check_red_zones(w);
}

const char* running_kernel() { return device_worker ? device_worker->launch->kernel : nullptr; }
bool in_kernel() { return device_worker != nullptr; }
int lane_id() { return device_worker->running % WARP; }
unsigned active_mask() { return device_worker->warps[static_cast<size_t>(device_worker->running / WARP)].alive; }

}  // namespace moore_sim
