#include "host_traffic.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "arena.h"
#include "moore_sim/runtime.h"

namespace moore_sim {

HostTraffic host_traffic;

namespace {

constexpr size_t MOST_REMEMBERED = 4096;

std::mutex traffic_mutex;
std::vector<uint64_t> contents_taken;  // sums of what the host took: a result may go by way of the host as it is

// FNV-1a over words; a candidate gains nothing by a collision that it could not have by a kernel that copies.
uint64_t sum_of(const void* host, size_t bytes) {
  uint64_t sum = 0xcbf29ce484222325u ^ bytes;
  const auto* at = static_cast<const char*>(host);
  for (; bytes; at += std::min<size_t>(bytes, 8), bytes -= std::min<size_t>(bytes, 8)) {
    uint64_t word = 0;
    std::memcpy(&word, at, std::min<size_t>(bytes, 8));
    sum = (sum ^ word) * 0x100000001b3u;
  }
  return sum;
}

bool is_remembered(uint64_t sum) {
  return std::find(contents_taken.begin(), contents_taken.end(), sum) != contents_taken.end();
}

}  // namespace

void forget_host_traffic() {
  std::lock_guard lock(traffic_mutex);
  host_traffic = {};
  contents_taken.clear();
}

void note_launch_for_traffic() {
  std::lock_guard lock(traffic_mutex);
  host_traffic.own_before_launch = host_traffic.own_taken;
}

void note_taken(const void* from, const void* host, size_t bytes) {
  std::lock_guard lock(traffic_mutex);
  const Region* r = region_at(address_of(from));
  if (r && r->own_work)
    host_traffic.own_taken += bytes;
  else if (!r || !r->weights)
    host_traffic.foreign_taken += bytes;
  if (host && bytes > sizeof(uint64_t) && contents_taken.size() < MOST_REMEMBERED)
    contents_taken.push_back(sum_of(host, bytes));
}

void note_given(const void* host, size_t bytes) {
  std::lock_guard lock(traffic_mutex);
  const bool came_so = host && bytes > sizeof(uint64_t) && is_remembered(sum_of(host, bytes));
  (came_so ? host_traffic.returned : host_traffic.given) += bytes;
}

}  // namespace moore_sim

using namespace moore_sim;

// For the run child, of what PyTorch's operators bring from one side to the other; `host` may be null for a number.
extern "C" MOORE_SIM_API void moore_sim_note_taken(const void* from, const void* host, uint64_t bytes) {
  note_taken(from, host, bytes);
}
extern "C" MOORE_SIM_API void moore_sim_note_given(const void* host, uint64_t bytes) { note_given(host, bytes); }

// The allocation holds weights that the judge put there: to look at them is not to look at a task's data.
extern "C" MOORE_SIM_API void moore_sim_mark_weights(const void* pointer) {
  if (Region* r = region_at(address_of(pointer))) r->weights = true;
}
