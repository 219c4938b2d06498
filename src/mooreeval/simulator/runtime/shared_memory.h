// __shared__ memory of the block that a worker runs.
#pragma once
#include <vector>

#include "settings.h"

namespace moore_sim {

inline constexpr size_t SHARED_STATIC_LIMIT = 48 << 10;   // what a compiler for sm_80 accepts
inline constexpr size_t SHARED_DEFAULT_LIMIT = 48 << 10;  // without cudaFuncSetAttribute
inline constexpr size_t SHARED_OPT_IN_LIMIT = 163 << 10;  // with it, sm_80

struct SharedVariable {
  const void* site;  // null: the dynamic area
  Address base;
  size_t bytes;
  const char* name;  // null: not known
};

// What a variable is called in messages.
struct SharedName {
  explicit SharedName(const SharedVariable& v);
  char text[96];
};

// Static variables lie one behind the other with red zones between; the dynamic area ends at a guard page.
class SharedMemory {
 public:
  // Forgets the variables of the last kernel.
  void begin_launch(size_t dynamic_bytes);
  // Fills everything with 0xFF: uninitialised memory should look wrong.
  void begin_block(bool watched);
  // Red zones that were written to (unwatched blocks; watched ones see the access itself).
  void check_red_zones() const;

  void* dynamic() const { return reinterpret_cast<void*>(variables_[0].base); }
  void* variable(const void* site, size_t bytes, size_t alignment, const char* name, Address pc);

  bool holds(Address a) const { return a - begin_ < SPAN; }
  const SharedVariable* at(Address a) const;
  // Where an access outside all variables is, and how far from which of them. `bytes`: 0 where not known.
  void describe_outside(char* text, size_t room, Address a, size_t bytes) const;
  Address begin() const { return begin_; }
  // In a watched block, one byte for each byte from `a` on: has anything been written there?
  uint8_t* written(Address a) { return written_.data() + (a - begin_); }

  // gap, static area, gap, dynamic area, gap; gaps are inaccessible
  static constexpr size_t GAP = 64 << 10, STATIC_AREA = 512 << 10, DYNAMIC_AREA = 164 << 10;
  static constexpr size_t STATIC_OFFSET = GAP, DYNAMIC_OFFSET = GAP + STATIC_AREA + GAP;
  static constexpr size_t SPAN = DYNAMIC_OFFSET + DYNAMIC_AREA + GAP;

 private:
  void map();
  void fill(const SharedVariable& v);
  const SharedVariable* nearest(Address a) const;
  Address begin_ = 0;
  size_t static_used_ = 0, static_declared_ = 0;
  std::vector<SharedVariable> variables_;
  bool watched_ = false;
  std::vector<uint8_t> written_;
};

}  // namespace moore_sim
