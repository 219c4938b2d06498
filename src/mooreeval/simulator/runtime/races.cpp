// Compares every access with what the shadow remembers, and tells the pair of places once.
#include "races.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include <vector>

#include "clocks.h"
#include "findings.h"
#include "naming.h"
#include "sites.h"

namespace moore_sim::races {
namespace {

struct Conflict {
  Cell other;
  bool other_wrote = false;
  bool found = false;
};

// The running access, as far as every word of it shares it.
struct Now {
  const Memory& memory;
  Address address;
  size_t bytes;
  check::Kind kind;
  Cell cell;  // without the bytes
  Address pc;
};

// A write that met another write: whether both wrote the same value shows only after it happened.
struct PendingWrite {
  bool active = false;
  Address address = 0;
  size_t bytes = 0;
  unsigned char before[16];
  Cell other, own;
  Memory memory{};
  Address pc = 0;
};
PendingWrite pending;

// A plain read of what others update atomically. It is a fault unless the thread goes on to update it atomically
// itself: a loop around atomicCAS begins with such a read, and does not rely on it.
struct PendingRead {
  Memory memory;
  Address address;
  size_t bytes;
  check::Kind kind;
  Cell cell;
  Address pc;
  Conflict conflict;
};
constexpr size_t MAX_PENDING_READS = 64;
std::vector<PendingRead> pending_reads;

std::unordered_map<uint64_t, int> told;  // pair of sites and kind of conflict -> finding

// Two synchronising accesses (atomics, volatiles) never race.
bool conflicts(const Now& now, Cell other, unsigned bytes) {
  return (other.bytes() & bytes) && !(other.is_synchronising() && now.cell.is_synchronising()) &&
         clocks::unordered(other, now.cell.thread(), now.memory.since);
}

bool in_same_warp(Cell a, Cell b) {
  return a.clock() >= clocks::state.block_start && b.clock() >= clocks::state.block_start &&
         a.thread() / WARP == b.thread() / WARP;
}

bool covers(Cell a, Cell b) { return !(b.bytes() & ~a.bytes()); }

// Atomics do not race with each other, so the last one says nothing about those before: a second thread's is kept, of
// another warp where there is one.
void keep_atomic(const Now& now, ShadowWord& word, Cell cell) {
  const bool first_is_other = word.write[0].is_atomic() && word.write[0].thread() != cell.thread();
  const bool second_is_far =
      clocks::unordered(word.write[1], cell.thread(), now.memory.since) && !in_same_warp(word.write[1], cell);
  if (first_is_other && !second_is_far) word.write[1] = word.write[0];
  word.write[0] = cell;
}

void keep_write(ShadowWord& word, Cell cell) {
  // Different bytes: keep both.
  if (!covers(cell, word.write[0])) {
    word.write[1] = cell;
    return;
  }
  word.write[0] = cell;
  if (covers(cell, word.write[1])) word.write[1] = {};
}

// The reads with which this thread prepared its atomic update count as part of it.
void excuse_own_reads(ShadowWord& word, Cell cell) {
  for (Cell& read : word.read)
    if (read.thread() == cell.thread() && read.clock() >= clocks::state.barrier) read.bits |= ATOMIC_BIT;
}

void touch_write(const Now& now, ShadowWord& word, unsigned bytes, Conflict& conflict) {
  const Cell cell = now.cell.with_bytes(bytes);
  if (now.kind.atomic) excuse_own_reads(word, cell);
  if (word.write[0] == cell) return;
  for (const Cell other : word.write)
    if (!conflict.found && conflicts(now, other, bytes)) conflict = {other, true, true};
  for (const Cell other : word.read)
    if (!conflict.found && conflicts(now, other, bytes)) conflict = {other, false, true};
  for (Cell& old : word.write)
    if (old.clock() < now.memory.since) old = {};
  if (now.kind.atomic)
    keep_atomic(now, word, cell);
  else
    keep_write(word, cell);
}

// Readers are kept until they are ordered with the present; of two, one of each warp rather than two of one.
int slot_for_read(const Now& now, const ShadowWord& word) {
  const int thread = now.cell.thread();
  if (!clocks::unordered(word.read[0], thread, now.memory.since)) return 0;
  if (!clocks::unordered(word.read[1], thread, now.memory.since)) return 1;
  return in_same_warp(word.read[0], now.cell) && !in_same_warp(word.read[1], now.cell) ? 0 : 1;
}

void touch_read(const Now& now, ShadowWord& word, unsigned bytes, Conflict& conflict) {
  const Cell cell = now.cell.with_bytes(bytes);
  if (word.read[0] == cell || word.read[1] == cell) return;
  for (const Cell other : word.write)
    if (!conflict.found && conflicts(now, other, bytes)) conflict = {other, true, true};
  word.read[slot_for_read(now, word)] = cell;
}

void describe_place(char* text, size_t room, const Memory& m, Address a) {
  const size_t offset = a - m.start;
  if (!m.bytes)
    std::snprintf(text, room, "a __device__ variable");
  else if (const SharedVariable* v = device_worker->shared.at(m.start))
    std::snprintf(text, room, "byte %zu of %zu of %s", offset, m.bytes, SharedName(*v).text);
  else if (const Region* r = region_at(m.start))
    std::snprintf(text, room, "byte %zu of %zu of a device allocation%s", offset, m.bytes,
                  ParameterName(*device_worker->launch, *r).text);
}

uint3 block_coordinates(uint64_t block) {
  const dim3& grid = current.grid_dim;
  return {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
          static_cast<unsigned>(block / grid.x / grid.y)};
}

const char* missing_order(bool same_block, bool same_warp, bool same_site) {
  if (!same_block) return "blocks of one launch are not ordered";
  if (same_warp && same_site) return "lanes of one instruction are not ordered";
  return same_warp ? "only running in lockstep would order them: __syncwarp() is missing" : "no barrier lies between";
}

int tell(const Memory& m, Address a, Cell other, Cell own, bool error, const char* kind, const char* own_verb,
         const char* other_verb, Address pc) {
  const uint64_t block = clocks::block_of(other.clock());
  const bool same_block = block == device_worker->block;
  const bool same_warp = same_block && other.thread() / WARP == own.thread() / WARP;
  const uint3 other_thread = device_worker->coordinates(other.thread()), other_block = block_coordinates(block);
  char place[240] = "";
  describe_place(place, sizeof place, m, a);
  return add_finding(
      {.kind = kind, .error = error, .pc = pc, .other_pc = pc_of_site(other.site()), .other_thread = &other_thread},
      "%s %s, which thread (%u, %u, %u) of block (%u, %u, %u) %s; %s", own_verb, place, other_thread.x, other_thread.y,
      other_thread.z, other_block.x, other_block.y, other_block.z, other_verb,
      missing_order(same_block, same_warp, other.site() == own.site()));
}

// A plain access against a volatile one is a fault only in theory; a warning.
bool only_volatile(Cell a, Cell b) { return a.is_volatile() || b.is_volatile(); }

// The pair of sites, whichever came first, and what the kind and severity of the finding depend on.
uint64_t key_of(Cell own, Cell other, bool both_write, bool differ) {
  const uint64_t low = std::min(own.site(), other.site()), high = std::max(own.site(), other.site());
  return high << 32 | low << 8 | uint64_t{both_write} << 3 | uint64_t{differ} << 2 |
         uint64_t{in_same_warp(own, other)} << 1 | uint64_t{only_volatile(own, other)};
}

void tell_conflict(const Now& now, const Conflict& c) {
  const uint64_t key = key_of(now.cell, c.other, false, false);
  if (const auto known = told.find(key); known != told.end()) return count_finding(known->second);
  const bool lockstep = in_same_warp(now.cell, c.other);
  told[key] = tell(now.memory, now.address, c.other, now.cell, !lockstep && !only_volatile(now.cell, c.other),
                   lockstep ? "warp_sync" : "race",
                   now.kind.atomic  ? "updates atomically"
                   : now.kind.write ? "writes"
                                    : "reads",
                   c.other.is_atomic() ? "updated atomically"
                   : c.other_wrote     ? "wrote"
                                       : "read",
                   now.pc);
}

void defer(const Now& now, Cell other) {
  pending.active = true;
  pending.address = now.address;
  pending.bytes = std::min<size_t>(now.bytes, sizeof pending.before);
  std::memcpy(pending.before, reinterpret_cast<void*>(now.address), pending.bytes);
  pending.other = other, pending.own = now.cell;
  pending.memory = now.memory, pending.pc = now.pc;
}

void react(const Now& now, const Conflict& c) {
  const bool both_write = now.kind.write && !now.kind.atomic && c.other_wrote && !c.other.is_atomic();
  const bool reads_atomic = !now.kind.write && c.other.is_atomic();
  if (both_write)
    defer(now, c.other);
  else if (reads_atomic && pending_reads.size() < MAX_PENDING_READS)
    pending_reads.push_back({now.memory, now.address, now.bytes, now.kind, now.cell, now.pc, c});
  else
    tell_conflict(now, c);
}

void excuse_pending_reads(Address address) {
  std::erase_if(pending_reads, [&](const PendingRead& r) { return address - r.address < r.bytes; });
}

}  // namespace

void begin_launch() {
  told.clear();
  pending.active = false;
  pending_reads.clear();
}

void settle_reads() {
  for (const PendingRead& r : pending_reads)
    tell_conflict({r.memory, r.address, r.bytes, r.kind, r.cell, r.pc}, r.conflict);
  pending_reads.clear();
}

void settle_write() {
  if (!pending.active) return;
  pending.active = false;
  const bool differ = std::memcmp(pending.before, reinterpret_cast<void*>(pending.address), pending.bytes) != 0;
  const bool warp = in_same_warp(pending.own, pending.other), same_site = pending.own.site() == pending.other.site();
  if (warp && same_site && !differ) return;  // one instruction, one value: hardware defines that
  const bool lockstep = warp && !same_site;
  const uint64_t key = key_of(pending.own, pending.other, true, differ);
  if (const auto known = told.find(key); known != told.end()) return count_finding(known->second);
  const bool error = differ && !lockstep && !only_volatile(pending.own, pending.other);
  told[key] = tell(pending.memory, pending.address, pending.other, pending.own, error, lockstep ? "warp_sync" : "race",
                   differ ? "writes another value to" : "writes the same value to", "wrote", pending.pc);
}

// The most frequent access of all, a plain read of a whole word, where it meets no write: the same outcome as below.
bool track_plain_read(const Memory& memory, Address address, Cell cell) {
  ShadowWord& word = memory.words[(address - memory.base) / 4];
  const Cell whole = cell.with_bytes(15);
  if (word.read[0] == whole || word.read[1] == whole) return true;
  const int thread = cell.thread();
  for (const Cell write : word.write)
    if (clocks::unordered(write, thread, memory.since)) return false;
  int slot = 0;
  if (clocks::unordered(word.read[0], thread, memory.since))
    slot = !clocks::unordered(word.read[1], thread, memory.since) ||
           !(in_same_warp(word.read[0], cell) && !in_same_warp(word.read[1], cell));
  word.read[slot] = whole;
  return true;
}

void track(const Memory& memory, Address address, size_t bytes, check::Kind kind, Address pc) {
  const Cell cell = Cell::make(clocks::state.now, device_worker->running, site_of(pc), kind.atomic, kind.is_volatile);
  const bool is_plain_read = !kind.write && !kind.atomic && !kind.is_volatile && bytes == 4 && address % 4 == 0;
  if (is_plain_read && track_plain_read(memory, address, cell)) return;
  const Now now{memory, address, bytes, kind, cell, pc};
  if (kind.atomic && !pending_reads.empty()) excuse_pending_reads(address);
  Conflict conflict;
  const Address end = address + bytes;
  for (Address word = address & ~Address{3}; word < end; word += 4) {
    const unsigned first = word < address ? static_cast<unsigned>(address - word) : 0;
    const unsigned last = word + 4 > end ? static_cast<unsigned>(end - word) : 4;
    const unsigned mask = ((1u << last) - 1) & ~((1u << first) - 1);
    ShadowWord& shadow = memory.words[(word - memory.base) / 4];
    if (kind.write)
      touch_write(now, shadow, mask, conflict);
    else
      touch_read(now, shadow, mask, conflict);
  }
  if (conflict.found) react(now, conflict);
}

}  // namespace moore_sim::races
