// Compares every access with what the shadow remembers, and tells the pair of places once.
#include "races.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "clocks.h"
#include "findings.h"
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
  Cell cell;                 // without the bytes
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

std::unordered_map<uint64_t, int> told;   // pair of sites and kind of conflict -> finding

// Two synchronising accesses (atomics, volatiles) never race.
bool conflicts(const Now& now, Cell other, unsigned bytes) {
  return (other.bytes() & bytes) && !(other.is_synchronising() && now.cell.is_synchronising()) &&
         clocks::unordered(other, now.cell.thread(), now.memory.since);
}

void keep_write(ShadowWord& word, Cell cell) {
  const bool covers_first = !(word.write[0].bytes() & ~cell.bytes());
  if (covers_first) {
    word.write[0] = cell;
    if (!(word.write[1].bytes() & ~cell.bytes())) word.write[1] = {};
    return;
  }
  // Different bytes: keep both while the first is of this launch.
  word.write[1] = cell;
}

void touch_write(const Now& now, ShadowWord& word, unsigned bytes, Conflict& conflict) {
  const Cell cell = now.cell.with_bytes(bytes);
  if (word.write[0] == cell) return;
  for (const Cell other : word.write)
    if (!conflict.found && conflicts(now, other, bytes)) conflict = {other, true, true};
  for (const Cell other : word.read)
    if (!conflict.found && conflicts(now, other, bytes)) conflict = {other, false, true};
  if (word.write[0].clock() < now.memory.since) word.write[0] = {};
  if (word.write[1].clock() < now.memory.since) word.write[1] = {};
  keep_write(word, cell);
}

// read[0] stays with the first reader until that one is ordered with the present; read[1] is some other thread.
void touch_read(const Now& now, ShadowWord& word, unsigned bytes, Conflict& conflict) {
  const Cell cell = now.cell.with_bytes(bytes);
  if (word.read[0] == cell || word.read[1] == cell) return;
  for (const Cell other : word.write)
    if (!conflict.found && conflicts(now, other, bytes)) conflict = {other, true, true};
  const int thread = cell.thread();
  const Cell first = word.read[0];
  const bool replace = first.thread() == thread && first.clock() >= clocks::state.block_start
                           ? !(first.bytes() & ~bytes)
                           : !clocks::unordered(first, thread, now.memory.since);
  word.read[replace ? 0 : 1] = cell;
}

void describe_place(char* text, size_t room, const Memory& m, Address a) {
  std::snprintf(text, room, "byte %zu of %zu of %s", static_cast<size_t>(a - m.start), m.bytes, m.name);
}

uint3 block_coordinates(uint64_t block) {
  const dim3& grid = current.grid_dim;
  return {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
          static_cast<unsigned>(block / grid.x / grid.y)};
}

const char* missing_order(bool same_block, bool same_warp) {
  if (!same_block) return "blocks of one launch are not ordered";
  return same_warp ? "only running in lockstep would order them: __syncwarp() is missing" : "no barrier lies between";
}

int tell(const Memory& m, Address a, Cell other, Cell own, bool error, const char* kind, const char* own_verb,
         const char* other_verb, Address pc) {
  const uint64_t block = clocks::block_of(other.clock());
  const bool same_block = block == device_worker->block;
  const bool same_warp = same_block && other.thread() / WARP == own.thread() / WARP;
  const uint3 other_thread = device_worker->coordinates(other.thread()), other_block = block_coordinates(block);
  char place[160];
  describe_place(place, sizeof place, m, a);
  return add_finding({.kind = kind, .error = error, .pc = pc, .other_pc = pc_of_site(other.site()), .other_thread = &other_thread},
                     "%s %s, which thread (%u,%u,%u) of block (%u,%u,%u) %s; %s", own_verb, place, other_thread.x,
                     other_thread.y, other_thread.z, other_block.x, other_block.y, other_block.z, other_verb,
                     missing_order(same_block, same_warp));
}

bool in_same_warp(Cell a, Cell b) {
  return a.clock() >= clocks::state.block_start && b.clock() >= clocks::state.block_start && a.thread() / WARP == b.thread() / WARP;
}

// A plain access against a volatile one is a fault only in theory; a warning.
bool only_volatile(Cell a, Cell b) { return a.is_volatile() || b.is_volatile(); }

enum class Sort : uint64_t { READ_AFTER_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE };

// Two sites of 16 bits, the sort and what the severity depends on.
uint64_t key_of(Cell own, Cell other, Sort sort) {
  return uint64_t{own.site()} << 32 | uint64_t{other.site()} << 8 | static_cast<uint64_t>(sort) << 2 |
         uint64_t{in_same_warp(own, other)} << 1 | uint64_t{only_volatile(own, other)};
}

void tell_conflict(const Now& now, const Conflict& c) {
  const Sort sort = now.kind.write ? Sort::WRITE_AFTER_READ : Sort::READ_AFTER_WRITE;
  const uint64_t key = key_of(now.cell, c.other, sort);
  if (const auto known = told.find(key); known != told.end()) return count_finding(known->second);
  const bool lockstep = in_same_warp(now.cell, c.other);
  told[key] = tell(now.memory, now.address, c.other, now.cell, !lockstep && !only_volatile(now.cell, c.other),
                   lockstep ? "warp_sync" : "race", now.kind.atomic ? "updates atomically" : now.kind.write ? "writes" : "reads",
                   c.other.is_atomic() ? "updated atomically" : c.other_wrote ? "wrote" : "read", now.pc);
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
  if (both_write) defer(now, c.other);
  else tell_conflict(now, c);
}

}  // namespace

void begin_launch() { told.clear(), pending.active = false; }

void settle() {
  if (!pending.active) return;
  pending.active = false;
  const bool differ = std::memcmp(pending.before, reinterpret_cast<void*>(pending.address), pending.bytes) != 0;
  const bool warp = in_same_warp(pending.own, pending.other), same_site = pending.own.site() == pending.other.site();
  if (warp && same_site && !differ) return;   // one instruction, one value: hardware defines that
  const bool lockstep = warp && !same_site;
  const uint64_t key = key_of(pending.own, pending.other, Sort::WRITE_AFTER_WRITE) | uint64_t{differ} << 4;
  if (const auto known = told.find(key); known != told.end()) return count_finding(known->second);
  const bool error = differ && !lockstep && !only_volatile(pending.own, pending.other);
  told[key] = tell(pending.memory, pending.address, pending.other, pending.own, error, lockstep ? "warp_sync" : "race",
                   differ ? "writes another value to" : "writes the same value to", "wrote", pending.pc);
}

void track(const Memory& memory, Address address, size_t bytes, check::Kind kind, Address pc) {
  const Cell cell = Cell::make(clocks::state.now, device_worker->running, site_of(pc), kind.atomic, kind.is_volatile);
  const Now now{memory, address, bytes, kind, cell, pc};
  Conflict conflict;
  const Address end = address + bytes;
  for (Address word = address & ~Address{3}; word < end; word += 4) {
    const unsigned first = word < address ? static_cast<unsigned>(address - word) : 0;
    const unsigned last = word + 4 > end ? static_cast<unsigned>(end - word) : 4;
    const unsigned mask = ((1u << last) - 1) & ~((1u << first) - 1);
    ShadowWord& shadow = memory.words[(word - memory.base) / 4];
    if (kind.write) touch_write(now, shadow, mask, conflict);
    else touch_read(now, shadow, mask, conflict);
  }
  if (conflict.found) react(now, conflict);
}

}  // namespace moore_sim::races
