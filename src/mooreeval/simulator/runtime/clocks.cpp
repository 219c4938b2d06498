// Clocks of barriers and warps, and publication by fence and atomic.
#include "clocks.h"

#include <algorithm>
#include <unordered_map>

namespace moore_sim::clocks {

Now state;

namespace {

constexpr uint32_t CLOCK_LIMIT = 3'000'000'000u;  // a launch that begins later starts the count anew

struct BlockStart {
  uint32_t clock;
  uint64_t block;
};
std::vector<BlockStart> block_starts;

// For warps in which lanes met in smaller groups: lane u has seen what lane t did before seen[u][t].
struct LaneClocks {
  bool used = false;
  uint32_t seen[WARP][WARP];
};
LaneClocks lane_clocks[MAX_WARPS];

// What a thread published with a fence and an atomic: accesses of its block dated before `barrier`, of its warp before
// `warp`, its own before `own`.
struct Release {
  uint32_t at;
  uint64_t block;
  int thread;
  uint32_t barrier, warp, own;
};
struct Variable;
// The first `count` releases of a variable.
struct Acquired {
  const Variable* variable;
  size_t count;
};
using AcquiredList = std::vector<Acquired>;
struct Variable {
  std::vector<Release> releases;  // in order of time
  AcquiredList before;            // what the releasing threads themselves had taken over
};
std::unordered_map<Address, Variable> variables;
AcquiredList block_acquired;
AcquiredList thread_acquired[MAX_THREADS];
bool some_thread_acquired = false;
uint32_t fenced[MAX_THREADS];  // date of a thread's last fence

void take_over(AcquiredList& list, Acquired item) {
  for (Acquired& known : list)
    if (known.variable == item.variable) {
      known.count = std::max(known.count, item.count);
      return;
    }
  list.push_back(item);
}

void take_over_all(AcquiredList& list, const AcquiredList& items, const Variable* except = nullptr) {
  for (const Acquired& item : items)
    if (item.variable != except) take_over(list, item);
}

void forget_threads() {
  if (some_thread_acquired)
    for (AcquiredList& list : thread_acquired) list.clear();
  some_thread_acquired = false;
}

bool covers(const Release& r, Cell earlier) {
  const uint32_t clock = earlier.clock();
  if (clock < r.barrier) return true;
  if (earlier.thread() == r.thread) return clock < r.own;
  return earlier.thread() / WARP == r.thread / WARP && clock < r.warp;
}

// Releases are in order of time and each block's are neighbours: start at the first one after the access.
bool published(const Acquired& item, Cell earlier, uint64_t block, int depth) {
  const auto end = item.variable->releases.begin() + static_cast<std::ptrdiff_t>(item.count);
  auto r = std::lower_bound(item.variable->releases.begin(), end, earlier.clock(),
                            [](const Release& release, uint32_t clock) { return release.at < clock; });
  for (; r != end && r->block == block; ++r)
    if (covers(*r, earlier)) return true;
  constexpr int MAX_DEPTH = 4;
  if (depth == MAX_DEPTH) return false;
  for (const Acquired& before : item.variable->before)
    if (published(before, earlier, block, depth + 1)) return true;
  return false;
}

bool published_to(const AcquiredList& list, Cell earlier, uint64_t block) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Acquired& item) { return published(item, earlier, block, 0); });
}

uint32_t warp_clock(int thread) { return state.warp[thread / WARP]; }

void release(Variable& variable, int thread) {
  const Release r{state.now, block_of(state.now), thread, state.barrier, warp_clock(thread), fenced[thread]};
  variable.releases.push_back(r);
  state.published = true;
  take_over_all(variable.before, block_acquired, &variable);
  take_over_all(variable.before, thread_acquired[thread], &variable);
}

void acquire(const Variable& variable, int thread) {
  if (variable.releases.empty()) return;
  take_over(thread_acquired[thread], {&variable, variable.releases.size()});
  some_thread_acquired = true;
}

void begin_lane_clocks(int warp) {
  LaneClocks& lanes = lane_clocks[warp];
  if (lanes.used) return;
  lanes.used = state.lanes_met = true;
  std::fill(&lanes.seen[0][0], &lanes.seen[0][0] + WARP * WARP, 0);
}

// Everybody in the group now knows what any of them knew, and all that they did themselves.
void join_lanes(int warp, unsigned group) {
  begin_lane_clocks(warp);
  auto& seen = lane_clocks[warp].seen;
  uint32_t joined[WARP] = {};
  for (unsigned g = group; g; g &= g - 1)
    for (int t = 0; t < WARP; ++t) joined[t] = std::max(joined[t], seen[__builtin_ctz(g)][t]);
  for (unsigned g = group; g; g &= g - 1) joined[__builtin_ctz(g)] = state.now;
  for (unsigned g = group; g; g &= g - 1) std::copy(joined, joined + WARP, seen[__builtin_ctz(g)]);
}

void share_acquired(int warp, unsigned group) {
  if (!some_thread_acquired) return;
  AcquiredList all;
  for (unsigned g = group; g; g &= g - 1) take_over_all(all, thread_acquired[warp * WARP + __builtin_ctz(g)]);
  for (unsigned g = group; g; g &= g - 1) thread_acquired[warp * WARP + __builtin_ctz(g)] = all;
}

}  // namespace

void begin_launch() {
  if (state.now > CLOCK_LIMIT) clear_shadows(), state.now = 1;
  state.launch_start = ++state.now;
  block_starts.clear();
  variables.clear();
  state.published = false;
}

void begin_block(uint64_t block) {
  state.block_start = state.barrier = ++state.now;
  std::fill(std::begin(state.warp), std::end(state.warp), state.now);
  for (LaneClocks& lanes : lane_clocks) lanes.used = false;
  state.lanes_met = false;
  block_starts.push_back({state.now, block});
  block_acquired.clear();
  forget_threads();
}

void barrier_released() {
  state.barrier = ++state.now;
  if (!some_thread_acquired) return;
  for (const AcquiredList& list : thread_acquired) take_over_all(block_acquired, list);
  forget_threads();
}

void warp_met(int warp, unsigned group, unsigned alive) {
  ++state.now;
  if (group == alive)
    state.warp[warp] = state.now;
  else
    join_lanes(warp, group);
  share_acquired(warp, group);
}

void fence(int thread) { fenced[thread] = ++state.now; }

void synchronise(Address address, int thread) {
  const bool has_fenced = fenced[thread] >= state.block_start;
  if (!has_fenced && variables.empty()) return;
  const auto known = variables.find(address);
  if (known != variables.end()) acquire(known->second, thread);
  if (has_fenced) release(known != variables.end() ? known->second : variables[address], thread);
}

uint64_t block_of(uint32_t clock) {
  const auto after = std::upper_bound(block_starts.begin(), block_starts.end(), clock,
                                      [](uint32_t c, const BlockStart& start) { return c < start.clock; });
  return after == block_starts.begin() ? 0 : (after - 1)->block;
}

bool ordered_by_lanes(Cell earlier, int thread) {
  const LaneClocks& lanes = lane_clocks[thread / WARP];
  return lanes.used && earlier.clock() < lanes.seen[thread % WARP][earlier.thread() % WARP];
}

bool ordered_by_publication(Cell earlier, int thread) {
  const uint64_t block = block_of(earlier.clock());
  return published_to(block_acquired, earlier, block) || published_to(thread_acquired[thread], earlier, block);
}

}  // namespace moore_sim::clocks
