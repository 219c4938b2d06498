// __syncthreads and its votes. As on hardware since Volta, a barrier waits for the threads that have not exited.
#include "check.h"
#include "findings.h"
#include "worker.h"

namespace moore_sim {
namespace {

// Whether two calls are the same line is for the reader of the report to tell: compilers duplicate calls.
void tell_divergence(const Worker& w, Address pc) {
  const uint3& other = w.coordinates(w.barrier_first);
  add_finding({.kind = "divergent_barrier", .pc = pc, .other_pc = w.barrier_at, .other_thread = &other},
              "threads of one block wait at different __syncthreads() calls");
}

void tell_exited(const Worker& w) {
  const uint3& other = w.coordinates(w.barrier_first);
  add_finding({.kind = "divergent_barrier", .error = false, .pc = w.barrier_at, .other_thread = &other},
              "%d of the block's %d threads had exited before this barrier; CUDA asks that all threads reach it",
              w.threads - w.alive, w.threads);
}

void release(Worker& w) {
  if (w.alive < w.threads) tell_exited(w);
  if (w.watched) check::barrier_released();
  w.vote_result = w.votes;
  w.votes = Votes{};
  w.at_barrier = 0, w.barrier_at = 0;
  for (int t : w.order)
    if (w.state[static_cast<size_t>(t)] == State::AT_BARRIER) w.make_ready(t);
}

void arrive(Worker& w, Address pc) {
  if (w.at_barrier == 0)
    w.barrier_at = pc, w.barrier_first = w.running;
  else if (w.barrier_at != pc)
    tell_divergence(w, pc);
  w.waits_at[static_cast<size_t>(w.running)] = pc;
  w.state[static_cast<size_t>(w.running)] = State::AT_BARRIER;
  if (w.watched) check::settle();
  if (++w.at_barrier == w.alive) release(w);
  suspend(w, State::AT_BARRIER);
}

}  // namespace

void leave_barrier(Worker& w) {
  if (w.alive > 0 && w.at_barrier == w.alive) release(w);
}

void barrier() { arrive(*device_worker, address_of(__builtin_return_address(0))); }

int barrier_vote(Vote vote, int predicate) {
  Worker& w = *device_worker;
  w.votes.count += predicate != 0;
  w.votes.all &= predicate != 0;
  w.votes.any |= predicate != 0;
  arrive(w, address_of(__builtin_return_address(0)));
  const Votes& result = device_worker->vote_result;
  return vote == Vote::COUNT ? result.count : vote == Vote::AND ? result.all : result.any;
}

}  // namespace moore_sim
