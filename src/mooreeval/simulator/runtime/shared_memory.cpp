// Places __shared__ variables, poisons them, and watches the red zones between them.
#include "shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "findings.h"
#include "worker.h"

namespace moore_sim {
namespace {

constexpr size_t RED_ZONE = 32;
constexpr int RED = 0xA5, POISON = 0xFF;
constexpr int CUDA_ERROR_INVALID_VALUE = 1;

bool all_red(Address zone) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(zone);
  return std::all_of(bytes, bytes + RED_ZONE, [](unsigned char b) { return b == RED; });
}

}  // namespace

SharedName::SharedName(const SharedVariable& v) {
  std::snprintf(text, sizeof text, "%s%s",
                !v.site  ? "the dynamic shared memory"
                : v.name ? "the shared variable "
                         : "a shared variable",
                v.name ? v.name : "");
}

void SharedMemory::map() {
  void* range = mmap(nullptr, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) unsupported("shared memory (no address space left)");
  begin_ = address_of(range);
  mprotect(reinterpret_cast<void*>(begin_ + STATIC_OFFSET), STATIC_AREA, PROT_READ | PROT_WRITE);
  mprotect(reinterpret_cast<void*>(begin_ + DYNAMIC_OFFSET), DYNAMIC_AREA, PROT_READ | PROT_WRITE);
}

void SharedMemory::begin_launch(size_t dynamic_bytes) {
  if (!begin_) map();
  static_used_ = static_declared_ = 0;
  variables_.assign(1, {nullptr, begin_ + DYNAMIC_OFFSET + DYNAMIC_AREA - round_up(dynamic_bytes, 16), dynamic_bytes, nullptr});
}

void SharedMemory::begin_block(bool watched) {
  if (watched && written_.empty()) written_.resize(SPAN);
  watched_ = watched;
  for (const SharedVariable& v : variables_) fill(v);
}

void SharedMemory::fill(const SharedVariable& v) {
  std::memset(reinterpret_cast<void*>(v.base), POISON, v.bytes);
  if (watched_) std::memset(written(v.base), 0, v.bytes);
  if (v.site) std::memset(reinterpret_cast<void*>(v.base + v.bytes), RED, RED_ZONE);
}

void* SharedMemory::variable(const void* site, size_t bytes, size_t alignment, const char* name, Address pc) {
  for (const SharedVariable& v : variables_)
    if (v.site == site) return reinterpret_cast<void*>(v.base);
  const Address base = round_up(begin_ + STATIC_OFFSET + static_used_, std::max<size_t>(alignment, 16));
  if (base + bytes + RED_ZONE > begin_ + STATIC_OFFSET + STATIC_AREA)
    unsupported("more static shared memory than any GPU has");
  static_used_ = base + bytes + RED_ZONE - begin_ - STATIC_OFFSET;
  static_declared_ += bytes;
  if (static_declared_ > SHARED_STATIC_LIMIT)
    add_finding({.kind = "launch_error", .pc = pc},
                "the kernel declares %zu bytes of static shared memory; %zu are allowed", static_declared_,
                SHARED_STATIC_LIMIT);
  else if (static_declared_ + variables_[0].bytes > shared_memory_limit()) {
    set_error(CUDA_ERROR_INVALID_VALUE);
    add_finding({.kind = "launch_error", .pc = pc},
                "%zu bytes of static and %zu of dynamic shared memory; a block can have %zu", static_declared_,
                variables_[0].bytes, shared_memory_limit());
  }
  variables_.push_back({site, base, bytes, name});
  fill(variables_.back());
  return reinterpret_cast<void*>(base);
}

void SharedMemory::check_red_zones() const {
  for (const SharedVariable& v : variables_) {
    if (!v.site || all_red(v.base + v.bytes)) continue;
    add_finding({.kind = "shared_out_of_bounds"},
                "some thread of the block wrote past the end of %s of %zu bytes", SharedName(v).text, v.bytes);
    std::memset(reinterpret_cast<void*>(v.base + v.bytes), RED, RED_ZONE);
  }
}

const SharedVariable* SharedMemory::at(Address a) const {
  for (const SharedVariable& v : variables_)
    if (a - v.base < v.bytes) return &v;
  return nullptr;
}

// The variable that an access outside all of them most likely meant: the last one that begins at or before it. The
// dynamic area lies behind the others, and counts where a launch asked for none of it, too.
const SharedVariable* SharedMemory::nearest(Address a) const {
  const SharedVariable* best = nullptr;
  for (const SharedVariable& v : variables_)
    if (v.base <= a && (!best || v.base > best->base)) best = &v;
  return best;
}

void SharedMemory::describe_outside(char* text, size_t room, Address a, size_t bytes) const {
  const SharedVariable* v = nearest(a);
  if (!v) {
    const bool first_is_static = variables_.size() > 1;
    const SharedVariable& first = variables_[first_is_static ? 1 : 0];
    std::snprintf(text, room, "%zu bytes before %s", static_cast<size_t>(first.base - a), SharedName(first).text);
    return;
  }
  const size_t offset = a - v->base;
  if (!v->site)
    std::snprintf(text, room, "at byte %zu of the dynamic shared memory: past the %zu bytes that the launch asked for",
                  offset, v->bytes);
  else if (bytes)
    std::snprintf(text, room, "at byte %zu of %s of %zu bytes: %zu bytes past its end", offset, SharedName(*v).text,
                  v->bytes, offset + bytes - v->bytes);
  else
    std::snprintf(text, room, "at byte %zu of %s of %zu bytes", offset, SharedName(*v).text, v->bytes);
}

void* dynamic_shared() { return device_worker->shared.dynamic(); }

void* static_shared(const void* site, size_t bytes, size_t alignment, const char* name) {
  return device_worker->shared.variable(site, bytes, alignment, name, address_of(__builtin_return_address(0)));
}

}  // namespace moore_sim
