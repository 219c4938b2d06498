// What the run child asked for, and small helpers that every file needs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace moore_sim {

using Address = uintptr_t;
inline constexpr size_t PAGE = 4096;

inline Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }
inline size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

struct Settings {
  int order = 0;  // moore_sim_order
  uint64_t seed = 0;
  int threads = 0;  // host threads for blocks; 0 = all cores
  bool check = false;
  uint64_t check_budget = 0;  // watched accesses a launch; 0 = no limit
  bool hold = false;          // launches are logged, and nothing runs
  int report_fd = -1;
};
extern Settings settings;

// splitmix64: small, seedable, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform enough below `limit` (a multiply instead of a division; the bias is far below one in a million).
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(((next() >> 32) * limit) >> 32); }
  template <class T>
  void shuffle(T* values, size_t count) {
    for (size_t i = count; i > 1; --i) {
      size_t j = below(static_cast<uint32_t>(i));
      T moved = values[i - 1];
      values[i - 1] = values[j];
      values[j] = moved;
    }
  }

 private:
  uint64_t state_;
};

inline uint64_t mix(uint64_t a, uint64_t b) { return Random(a ^ (b * 0xD6E8FEB86659FD93u)).next(); }

}  // namespace moore_sim
