// Warp operations: the lanes of a mask meet, exchange a value each, and go on.
#include <cstdio>

#include "check.h"
#include "findings.h"
#include "worker.h"

namespace moore_sim {
namespace {

// Runs `visit(lane)` for every lane of `lanes`, lowest first.
template <class F>
void each_lane(unsigned lanes, F visit) {
  for (; lanes; lanes &= lanes - 1) visit(__builtin_ctz(lanes));
}

Lane& lane_of(Worker& w, int warp, int lane) { return w.lane[static_cast<size_t>(warp * WARP + lane)]; }
Warp& warp_of(Worker& w, int warp) { return w.warps[static_cast<size_t>(warp)]; }

uint64_t combine(WarpOp op, uint64_t a, uint64_t b) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  switch (op) {
    case WarpOp::ADD:
      return a + b;
    case WarpOp::MIN_SIGNED:
      return x < y ? a : b;
    case WarpOp::MAX_SIGNED:
      return x > y ? a : b;
    case WarpOp::MIN_UNSIGNED:
      return a < b ? a : b;
    case WarpOp::MAX_UNSIGNED:
      return a > b ? a : b;
    case WarpOp::AND:
      return a & b;
    case WarpOp::OR:
      return a | b;
    case WarpOp::XOR:
      return a ^ b;
    default:
      return 0;
  }
}

uint64_t reduce(Worker& w, int warp, unsigned group, WarpOp op) {
  uint64_t result = lane_of(w, warp, __builtin_ctz(group)).in.word[0];
  each_lane(group & (group - 1), [&](int l) { result = combine(op, result, lane_of(w, warp, l).in.word[0]); });
  return result;
}

unsigned lanes_like(Worker& w, int warp, unsigned group, uint64_t value) {
  unsigned same = 0;
  each_lane(group, [&](int l) { same |= unsigned{lane_of(w, warp, l).in.word[0] == value} << l; });
  return same;
}

unsigned ballot(Worker& w, int warp, unsigned group) {
  unsigned votes = 0;
  each_lane(group, [&](int l) { votes |= unsigned{lane_of(w, warp, l).in.word[0] != 0} << l; });
  return votes;
}

Address waits_at(const Worker& w, int warp, int lane) { return w.waits_at[static_cast<size_t>(warp * WARP + lane)]; }

// The value that a shuffle reads from a lane which does not take part is undefined; the reader keeps its own.
Exchange shuffled_value(Worker& w, int warp, unsigned group, int lane) {
  const Lane& me = lane_of(w, warp, lane);
  if (me.source >= 0 && me.source < WARP && (group >> me.source & 1)) return lane_of(w, warp, me.source).in;
  add_finding({.kind = "uninitialized", .error = false, .pc = waits_at(w, warp, lane)},
              "a shuffle in lane %d reads lane %d, which has exited or does not take part: the value is undefined",
              lane, me.source);
  return me.in;
}

void compute(Worker& w, int warp, unsigned group, WarpOp op) {
  const unsigned votes = op == WarpOp::BALLOT ? ballot(w, warp, group) : 0;
  const uint64_t reduced = reduce(w, warp, group, op);
  each_lane(group, [&](int l) {
    Lane& lane = lane_of(w, warp, l);
    const uint64_t mine = lane.in.word[0];
    switch (op) {
      case WarpOp::SYNC:
        break;
      case WarpOp::SHUFFLE:
        lane.out = shuffled_value(w, warp, group, l);
        break;
      case WarpOp::BALLOT:
        lane.out = {{votes, 0}};
        break;
      case WarpOp::MATCH_ANY:
        lane.out = {{lanes_like(w, warp, group, mine), 0}};
        break;
      case WarpOp::MATCH_ALL:
        lane.out = {{lanes_like(w, warp, group, mine) == group ? group : 0, 0}};
        break;
      default:
        lane.out = {{reduced, 0}};
    }
  });
}

void make_group_ready(Worker& w, int warp, unsigned group) {
  int lanes[WARP], count = 0;
  each_lane(group, [&](int l) { lanes[count++] = warp * WARP + l; });
  if (settings.order == MOORE_SIM_RANDOM) w.random.shuffle(lanes, static_cast<size_t>(count));
  const bool backwards = settings.order == MOORE_SIM_REVERSE;
  for (int i = 0; i < count; ++i) w.make_ready(lanes[backwards ? count - 1 - i : i]);
}

void complete(Worker& w, int warp, unsigned group) {
  Lane& first = lane_of(w, warp, __builtin_ctz(group));
  compute(w, warp, group, first.op);
  if (w.watched) check::warp_met(warp, group, warp_of(w, warp).alive);
  warp_of(w, warp).waiting &= ~group;
  make_group_ready(w, warp, group);
}

// Waiting lanes that named the same mask for the same operation as `lane`.
unsigned companions(Worker& w, int warp, int lane) {
  const Lane& me = lane_of(w, warp, lane);
  unsigned same = 0;
  each_lane(warp_of(w, warp).waiting, [&](int l) {
    same |= unsigned{lane_of(w, warp, l).mask == me.mask && lane_of(w, warp, l).op == me.op} << l;
  });
  return same;
}

bool complete_if_all_came(Worker& w, int warp, int lane) {
  const unsigned needed = lane_of(w, warp, lane).mask & warp_of(w, warp).alive;
  if (companions(w, warp, lane) != needed) return false;
  complete(w, warp, needed);
  return true;
}

void require_own_lane(Lane& lane, int number, Address pc) {
  if (lane.mask >> number & 1) return;
  add_finding({.kind = "divergent_barrier", .pc = pc},
              "lane %d calls a warp function with mask 0x%08x, which does not name it", number, lane.mask);
  lane.mask |= 1u << number;
}

// Findings about a stall are told from the first lane concerned; nobody runs at that moment.
class Speaker {
 public:
  Speaker(Worker& w, int thread) { device_worker = &w, w.running = thread, current.thread = w.coordinates(thread); }
  ~Speaker() { device_worker = nullptr; }
};

Address where_missing_lane_waits(const Worker& w, int warp, unsigned missing) {
  Address pc = 0;
  each_lane(missing, [&](int l) {
    if (!pc) pc = waits_at(w, warp, l);
  });
  return pc;
}

void release_without(Worker& w, int warp, int lane) {
  const unsigned group = companions(w, warp, lane);
  const unsigned missing = lane_of(w, warp, lane).mask & warp_of(w, warp).alive & ~group;
  Speaker speaker(w, warp * WARP + lane);
  add_finding({.kind = "warp_sync",
               .error = false,
               .pc = waits_at(w, warp, lane),
               .other_pc = where_missing_lane_waits(w, warp, missing)},
              "a warp function names lanes 0x%08x, but lanes 0x%08x never call it (they wait elsewhere): undefined, "
              "and it works on hardware only by chance",
              lane_of(w, warp, lane).mask, missing);
  complete(w, warp, group);
}

const char* what_it_waits_in(const Worker& w, int thread) {
  if (w.state[static_cast<size_t>(thread)] == State::AT_BARRIER) return "__syncthreads()";
  return w.lane[static_cast<size_t>(thread)].op == WarpOp::SYNC ? "__syncwarp()" : "a warp function";
}

int count_waiting(const Worker& w, State state) {
  int count = 0;
  for (int t = 0; t < w.threads; ++t) count += w.state[static_cast<size_t>(t)] == state;
  return count;
}

}  // namespace

Exchange warp_op(WarpOp op, unsigned mask, int source, Exchange value) {
  Worker& w = *device_worker;
  const int thread = w.running, warp = thread / WARP, number = thread % WARP;
  Lane& lane = w.lane[static_cast<size_t>(thread)];
  const Address pc = address_of(__builtin_return_address(0));
  lane = {op, mask, source, value, value};
  require_own_lane(lane, number, pc);
  w.waits_at[static_cast<size_t>(thread)] = pc;
  w.state[static_cast<size_t>(thread)] = State::IN_WARP_OP;
  if (w.watched) check::settle();
  warp_of(w, warp).waiting |= 1u << number;
  complete_if_all_came(w, warp, number);
  suspend(w, State::IN_WARP_OP);
  return lane.out;
}

void leave_warp(Worker& w, int thread) {
  const int warp = thread / WARP;
  Warp& state = warp_of(w, warp);
  state.alive &= ~(1u << (thread % WARP));
  for (unsigned left = state.waiting; left; left &= state.waiting) {
    const int lane = __builtin_ctz(left);
    complete_if_all_came(w, warp, lane);
    left &= left - 1;
  }
}

bool release_stalled_warp(Worker& w) {
  for (int warp = 0; warp * WARP < w.threads; ++warp)
    for (unsigned left = warp_of(w, warp).waiting; left; left &= left - 1) {
      const int lane = __builtin_ctz(left);
      if (lane_of(w, warp, lane).op == WarpOp::SYNC) continue;
      release_without(w, warp, lane);
      return true;
    }
  return false;
}

void tell_deadlock(Worker& w) {
  int first = 0, other = 0;
  while (first < w.threads - 1 && w.state[static_cast<size_t>(first)] != State::IN_WARP_OP) ++first;
  const int warp = first / WARP;
  const unsigned missing =
      lane_of(w, warp, first % WARP).mask & warp_of(w, warp).alive & ~companions(w, warp, first % WARP);
  other = missing ? warp * WARP + __builtin_ctz(missing) : first;
  Speaker speaker(w, first);
  add_finding({.kind = "deadlock",
               .pc = w.waits_at[static_cast<size_t>(first)],
               .other_pc = w.waits_at[static_cast<size_t>(other)],
               .other_thread = &w.coordinates(other)},
              "the block cannot go on: thread %d waits in %s for lanes 0x%08x of its warp, and lane %d waits in %s "
              "(%d threads in warp functions, %d at __syncthreads(), %d have exited)",
              first, what_it_waits_in(w, first), missing, other % WARP, what_it_waits_in(w, other),
              count_waiting(w, State::IN_WARP_OP), count_waiting(w, State::AT_BARRIER), w.threads - w.alive);
}

}  // namespace moore_sim
