// What the race detector remembers about memory, four bytes at a time.
#pragma once
#include "arena.h"

namespace moore_sim {

// One access: when (clock), who (thread of a block; the clock tells which block), where in the code (site), which of
// the four bytes, and how. Zero: none.
//   clock 32 | thread 10 | site 16 | bytes 4 | atomic 1 | volatile 1
inline constexpr uint64_t ATOMIC_BIT = 2;
struct Cell {
  uint64_t bits = 0;
  static Cell make(uint32_t clock, int thread, uint32_t site, bool atomic, bool is_volatile) {
    return {uint64_t{clock} << 32 | uint64_t(thread) << 22 | uint64_t{site} << 6 | uint64_t{atomic} << 1 | is_volatile};
  }
  Cell with_bytes(unsigned mask) const { return {bits | uint64_t{mask} << 2}; }
  uint32_t clock() const { return static_cast<uint32_t>(bits >> 32); }
  int thread() const { return static_cast<int>(bits >> 22 & 1023); }
  uint32_t site() const { return static_cast<uint32_t>(bits >> 6 & 0xFFFF); }
  unsigned bytes() const { return static_cast<unsigned>(bits >> 2 & 15); }
  bool is_atomic() const { return bits & ATOMIC_BIT; }
  bool is_volatile() const { return bits & 1; }
  bool is_synchronising() const { return bits & 3; }
  bool operator==(const Cell&) const = default;
};

// Two writes, because threads may write different bytes of a word. Two reads of different threads suffice: one of
// them is not the thread that writes later.
struct ShadowWord {
  Cell write[2];
  Cell read[2];
};

// The shadow of a region, made on first use; null when the host has no memory for it (then races go unseen).
ShadowWord* shadow_of(Region& region);
void drop_shadow(Region& region);
// Gives back shadows when they hold too much; what they remember is of no use after the launch.
void trim_shadows();
void clear_shadows();

}  // namespace moore_sim
