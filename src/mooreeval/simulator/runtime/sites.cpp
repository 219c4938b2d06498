// A small direct-mapped cache before a hash table: kernels have few places that access memory.
#include "sites.h"

#include <unordered_map>
#include <vector>

namespace moore_sim {
namespace {

constexpr size_t CACHE = 4096;
constexpr uint32_t MAX_SITES = 1 << 16;
struct Entry {
  Address pc = 0;
  uint32_t site = 0;
};
Entry cache[CACHE];
std::vector<Address> addresses{0};
std::unordered_map<Address, uint32_t> numbers;

uint32_t look_up(Address pc) {
  const auto [entry, fresh] = numbers.try_emplace(pc, 0);
  if (fresh && addresses.size() < MAX_SITES) {
    entry->second = static_cast<uint32_t>(addresses.size());
    addresses.push_back(pc);
  }
  return entry->second;
}

}  // namespace

uint32_t site_of(Address pc) {
  Entry& entry = cache[(pc ^ pc >> 12) % CACHE];
  if (entry.pc != pc) entry = {pc, look_up(pc)};
  return entry.site;
}

Address pc_of_site(uint32_t site) { return addresses[site]; }

}  // namespace moore_sim
