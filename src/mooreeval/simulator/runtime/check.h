// Check mode: every access of device code is looked at. It runs on one host thread, one launch at a time, so its
// state is global. These are the calls that the scheduler and the hooks make.
#pragma once
#include "worker.h"

namespace moore_sim::check {

void begin_launch(const LaunchState& launch);
void end_launch();
// Whether to watch the block at this position of the launch's order; with a budget, the first, the last and some
// others.
bool begin_block(const Worker& worker, uint64_t position);
void end_block(Worker& worker);
bool has_budget();

// Finishes what had to wait until the running thread's last write was done; before another thread runs.
void settle();
void barrier_released();
void warp_met(int warp, unsigned group, unsigned alive);

// One byte: three of them, passed on the stack, would be written one by one and read at once, for which a CPU stalls.
struct Kind {
  bool write : 1 = false;
  bool atomic : 1 = false;
  bool is_volatile : 1 = false;
};
// An access of `bytes` by the running thread, about to happen. `alignment`: what the address must be a multiple of.
void access(Address address, size_t bytes, size_t alignment, Kind kind, Address pc);

void fence();

// The last address that was found bad: the fault that follows is not told again.
extern Address told_address;
extern size_t told_bytes;

}  // namespace moore_sim::check
