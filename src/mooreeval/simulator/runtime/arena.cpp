// The arena is one reserved range, handed out from front to back. An allocation owns a span of 64 KiB granules: guard
// space, its pages, guard space. The allocation ends (rounded to 16 bytes) where its pages end, so that the first byte
// past it faults. A freed span stays inaccessible and keeps its record until the hand has gone round the whole arena:
// that is how a use after free can be told from a wild pointer.
#include "arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "findings.h"
#include "moore_sim/runtime.h"
#include "shadow.h"
#include "signals.h"

namespace moore_sim {

Address arena_begin = 0;
size_t arena_bytes = 0;

namespace {

constexpr size_t GRANULE = 64 << 10;
constexpr size_t GUARD_BEFORE = 1 << 20;
constexpr size_t GUARD_AFTER_MIN = 1 << 20, GUARD_AFTER_MAX = 256 << 20;
constexpr size_t HUGE = 4 << 20;    // from here on huge pages pay: filling and protecting cost time per page
constexpr int FREE_PATTERN = 0xFF;  // NaN in every floating type, -1 in every integer

std::mutex arena_mutex;
Region** region_of_granule = nullptr;
std::vector<Region*> accessible_regions;
size_t granule_count = 0, next_granule = 0;
uint64_t used_bytes = 0, peak_bytes = 0, limit_bytes = UINT64_MAX;
int open_count = 0;
bool own_work_left = false;

void* reserve(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// As much address space as the process may have; limits on it are common in sandboxes.
void reserve_arena() {
  if (arena_begin) return;
  for (size_t bytes = size_t{1} << 40; bytes >= size_t{1} << 30; bytes /= 4) {
    void* range = reserve(bytes + GRANULE);
    if (!range) continue;
    granule_count = bytes / GRANULE;
    void* table = mmap(nullptr, granule_count * sizeof(Region*), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) break;
    region_of_granule = static_cast<Region**>(table);
    arena_begin = round_up(address_of(range), GRANULE);
    arena_bytes = bytes;
    install_signal_handlers();
    return;
  }
  unsupported("simulated device memory (no address space left)");
}

void forget_region(Region* r) {
  std::fill_n(region_of_granule + r->first_granule, r->granules, nullptr);
  delete r;
}

// First granule of `count` ones that no live allocation holds, from the hand onwards; granule_count when there are
// none.
size_t claim_granules(size_t count) {
  size_t start = next_granule + count <= granule_count ? next_granule : 0;
  for (int rounds = 0; rounds < 2;) {
    size_t end = start + count;
    if (end > granule_count) {
      ++rounds, start = 0;
      continue;
    }
    size_t g = start;
    while (g < end && !(region_of_granule[g] && region_of_granule[g]->live)) ++g;
    if (g == end) return start;
    start = region_of_granule[g]->first_granule + region_of_granule[g]->granules;
  }
  return granule_count;
}

Region* claim_region(size_t bytes) {
  const size_t rounded = round_up(std::max<size_t>(bytes, 1), 16);
  const size_t map_bytes = round_up(rounded, PAGE);
  const size_t guard_after = std::clamp(round_up(map_bytes, GRANULE), GUARD_AFTER_MIN, GUARD_AFTER_MAX);
  const size_t count = (round_up(map_bytes, GRANULE) + GUARD_BEFORE + guard_after) / GRANULE;
  const size_t first = claim_granules(count);
  if (first == granule_count) return nullptr;
  for (size_t g = first; g < first + count; ++g)
    if (region_of_granule[g]) forget_region(region_of_granule[g]);
  auto* r = new Region;
  const Address map_end = arena_begin + (first + count) * GRANULE - guard_after;
  r->base = map_end - rounded, r->bytes = bytes;
  r->map = map_end - map_bytes, r->map_bytes = map_bytes;
  r->first_granule = first, r->granules = count;
  std::fill_n(region_of_granule + first, count, r);
  next_granule = first + count;
  return r;
}

bool set_access(Region& r, bool accessible) {
  if (mprotect(reinterpret_cast<void*>(r.map), r.map_bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
    return false;
  r.accessible = accessible;
  return true;
}

bool make_accessible(Region& r) {
  if (!set_access(r, true)) return false;
  accessible_regions.push_back(&r);
  return true;
}

// At the end of a copy or operator.
void carry_own_work() {
  size_t with = 0;
  for (const Region* r : accessible_regions) with += r->own_work;
  if (!with) return;
  if (with == accessible_regions.size()) own_work_left = true;
  for (Region* r : accessible_regions) r->own_work = true;
}

void close_all() {
  for (Region* r : accessible_regions) set_access(*r, false);
  accessible_regions.clear();
}

void count_bytes(const Region& r) {
  used_bytes += r.map_bytes;
  peak_bytes = std::max(peak_bytes, used_bytes);
}

// A fresh mapping in place of the pages gives the memory back and lets the kernel merge the range with its neighbours.
void release_pages(const Region& r) {
  mmap(reinterpret_cast<void*>(r.map), r.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
}

void tell_bad_free(const void* pointer, Address pc) {
  const Region* r = region_at(address_of(pointer));
  const char* why = !r         ? "it was never allocated on the device"
                    : !r->live ? "it was freed before"
                               : "it is not where an allocation begins";
  add_finding({.kind = "api_error", .pc = pc}, "free of a pointer that is no live allocation: %s", why);
}

}  // namespace

Region* region_at(Address a) { return in_arena(a) ? region_of_granule[(a - arena_begin) / GRANULE] : nullptr; }
Region* nearest_region(Address a) {
  if (!in_arena(a)) return nullptr;
  size_t granule = (a - arena_begin) / GRANULE;
  while (granule > 0 && !region_of_granule[granule]) --granule;
  return region_of_granule[granule];
}
uint64_t peak_device_bytes() { return peak_bytes; }
void limit_device_memory(uint64_t bytes) { limit_bytes = bytes; }

void* device_malloc(size_t bytes) {
  std::lock_guard lock(arena_mutex);
  reserve_arena();
  if (bytes > arena_bytes / 2 || round_up(bytes + 1, PAGE) + used_bytes > limit_bytes) return nullptr;
  Region* r = claim_region(bytes);
  if (!r) return nullptr;
  if (!make_accessible(*r)) return forget_region(r), nullptr;
  if (r->map_bytes >= HUGE) madvise(reinterpret_cast<void*>(r->map), r->map_bytes, MADV_HUGEPAGE);
  std::memset(reinterpret_cast<void*>(r->map), FREE_PATTERN, r->map_bytes);
  count_bytes(*r);
  if (open_count == 0) close_all();
  return reinterpret_cast<void*>(r->base);
}

bool device_free(void* pointer) {
  if (!pointer) return true;
  std::lock_guard lock(arena_mutex);
  Region* r = region_at(address_of(pointer));
  if (!r || !r->live || r->base != address_of(pointer)) {
    tell_bad_free(pointer, address_of(__builtin_return_address(0)));
    return false;
  }
  std::erase(accessible_regions, r);
  used_bytes -= r->map_bytes;
  r->live = r->accessible = false;
  release_pages(*r);
  drop_shadow(*r);
  return true;
}

void open_device_memory() {
  std::lock_guard lock(arena_mutex);
  ++open_count;
}

void close_device_memory() {
  std::lock_guard lock(arena_mutex);
  if (--open_count > 0) return;
  carry_own_work();
  close_all();
}

OpenForKernels::OpenForKernels() { open_device_memory(); }

OpenForKernels::~OpenForKernels() {
  std::lock_guard lock(arena_mutex);
  if (--open_count == 0) close_all();
}

bool host_saw_own_work() { return own_work_left; }
void note_own_work_outside() { own_work_left = true; }
void forget_host_work() { own_work_left = false; }

// Called by the signal handler. The arena's own code never faults, so the mutex is not held by this thread.
bool open_on_fault(Address a) {
  if (!in_arena(a)) return false;
  std::lock_guard lock(arena_mutex);
  Region* r = region_at(a);
  if (open_count == 0 || !r || !r->live || a - r->map >= r->map_bytes) return false;
  return r->accessible || make_accessible(*r);
}

bool is_device_pointer(const void* pointer) {
  const Region* r = region_at(address_of(pointer));
  return r && r->live && address_of(pointer) - r->base < std::max<size_t>(r->bytes, 1);
}

size_t device_bytes_from(const void* pointer) {
  return is_device_pointer(pointer)
             ? region_at(address_of(pointer))->base + region_at(address_of(pointer))->bytes - address_of(pointer)
             : 0;
}

}  // namespace moore_sim
