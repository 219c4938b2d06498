// Happens-before between accesses of one launch. Blocks of a checked launch run one after another, so one counter of
// synchronisation events is enough to date every access: `now` grows at each barrier, warp meeting and fence.
#pragma once
#include "shadow.h"
#include "worker.h"

namespace moore_sim::clocks {

struct Now {
  uint32_t now = 1;
  uint32_t launch_start = 1, block_start = 1;
  uint32_t barrier = 1;           // accesses dated before it are ordered with all that the block does now
  uint32_t warp[MAX_WARPS] = {};  // the same within a warp
  int thread = 0;                 // who runs; set by every access
  bool lanes_met = false;         // of this block, lanes of some warp met in smaller groups
  bool published = false;         // of this launch, some thread published what it did
};
extern Now state;

void begin_launch();
void begin_block(uint64_t block);
void barrier_released();
void warp_met(int warp, unsigned group, unsigned alive);
void fence(int thread);
// An atomic or volatile access at `address`: publishes what the thread's fences cover, takes over what others
// published.
void synchronise(Address address, int thread);

// Linear index of the block in which something dated `clock` happened.
uint64_t block_of(uint32_t clock);
bool ordered_by_lanes(Cell earlier, int thread);
bool ordered_by_publication(Cell earlier, int thread);

// Whether `earlier` is of this launch (of this block, for shared memory) and unordered with what `thread` does now.
inline bool unordered(Cell earlier, int thread, uint32_t since) {
  const uint32_t clock = earlier.clock();
  if (clock < since) return false;
  if (clock >= state.block_start) {
    if (earlier.thread() == thread || clock < state.barrier) return false;
    if (earlier.thread() / WARP == thread / WARP &&
        (clock < state.warp[thread / WARP] || (state.lanes_met && ordered_by_lanes(earlier, thread))))
      return false;
  }
  return !(state.published && ordered_by_publication(earlier, thread));
}

}  // namespace moore_sim::clocks
