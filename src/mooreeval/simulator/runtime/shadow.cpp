// Shadows are mapped lazily: memory that no watched kernel touches costs nothing.
#include "shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

namespace moore_sim {
namespace {

constexpr size_t KEEP_BYTES = 256 << 20;
std::vector<Region*> shadowed;

}  // namespace

ShadowWord* shadow_of(Region& r) {
  if (r.shadow) return r.shadow;
  const size_t bytes = round_up((r.bytes + 3) / 4 * sizeof(ShadowWord) + sizeof(ShadowWord), PAGE);
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  r.shadow = static_cast<ShadowWord*>(map);
  r.shadow_bytes = bytes;
  shadowed.push_back(&r);
  return r.shadow;
}

void drop_shadow(Region& r) {
  if (!r.shadow) return;
  munmap(r.shadow, r.shadow_bytes);
  r.shadow = nullptr;
  shadowed.erase(std::find(shadowed.begin(), shadowed.end(), &r));
}

void trim_shadows() {
  size_t total = 0;
  for (const Region* r : shadowed) total += r->shadow_bytes;
  if (total > KEEP_BYTES) clear_shadows();
}

void clear_shadows() {
  for (const Region* r : shadowed) madvise(r->shadow, r->shadow_bytes, MADV_DONTNEED);
}

}  // namespace moore_sim
