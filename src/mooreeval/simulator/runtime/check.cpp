// Which memory an access belongs to, whether it may be there, and which blocks are looked at.
#include "check.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "clocks.h"
#include "findings.h"
#include "modules.h"
#include "naming.h"
#include "races.h"
#include "report.h"

namespace moore_sim::check {

Address told_address = 0;
size_t told_bytes = 0;

namespace {

constexpr uint32_t WRITTEN_WORD = 0x01010101;  // marks of four bytes
constexpr Address USER_SPACE_END = Address{1} << 47;

struct Budget {
  uint64_t limit = 0, used = 0;  // of this launch
  uint64_t bytes = 0;            // of the accesses that were watched
  uint64_t watched_blocks = 0, blocks = 0;
  bool unlimited() const { return limit == 0; }
  bool spent() const { return limit && used >= limit; }
};
Budget budget;
ShadowWord* shared_shadow = nullptr;

ShadowWord* map_shared_shadow() {
  constexpr size_t bytes = SharedMemory::SPAN / 4 * sizeof(ShadowWord);
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) unsupported("check mode (no memory for the shadow)");
  return static_cast<ShadowWord*>(map);
}

const char* verb(Kind kind) { return kind.atomic ? "atomic update" : kind.write ? "write" : "read"; }

void remember_told(Address a, size_t bytes) { told_address = a, told_bytes = bytes; }

bool spend(size_t bytes) {
  if (budget.spent()) {
    statistics.check_stopped = true;
    watching = false;
    return false;
  }
  ++budget.used, ++statistics.watched, budget.bytes += bytes;
  return true;
}

void tell_misaligned(Address a, size_t bytes, size_t alignment, Kind kind, Address pc) {
  add_finding({.kind = "misaligned", .pc = pc},
              "%s of %zu bytes at an address that is no multiple of %zu (%zu bytes past one)", verb(kind), bytes,
              alignment, static_cast<size_t>(a % alignment));
}

void tell_outside_region(const Region* r, Address a, size_t bytes, Kind kind, Address pc) {
  remember_told(a, bytes);
  const Evidence evidence{.kind = "out_of_bounds", .pc = pc};
  if (!r) return void(add_finding(evidence, "%s of %zu bytes in front of all device memory", verb(kind), bytes));
  const ParameterName name(*device_worker->launch, *r);
  if (!r->live)
    add_finding(evidence, "%s of %zu bytes in freed device memory (byte %td of an allocation of %zu bytes)%s",
                verb(kind), bytes, static_cast<ptrdiff_t>(a - r->base), r->bytes, name.text);
  else if (a < r->base)
    add_finding(evidence, "%s of %zu bytes, %zu bytes before an allocation of %zu bytes%s", verb(kind), bytes,
                static_cast<size_t>(r->base - a), r->bytes, name.text);
  else
    add_finding(evidence, "%s of %zu bytes at byte %zu of an allocation of %zu bytes%s: %zu bytes past its end",
                verb(kind), bytes, static_cast<size_t>(a - r->base), r->bytes, name.text,
                static_cast<size_t>(a + bytes - r->base - r->bytes));
}

bool inside(Address a, size_t bytes, Address base, size_t size) { return bytes <= size && a - base <= size - bytes; }

void region_access(Region& r, Address a, size_t bytes, Kind kind, Address pc) {
  if (kind.write) r.own_work = true;
  ShadowWord* words = shadow_of(r);
  if (!words) return;
  races::track({words, r.base & ~Address{3}, clocks::state.launch_start, r.base, r.module_data ? 0 : r.bytes}, a,
               bytes, kind, pc);
  if (kind.atomic || kind.is_volatile) clocks::synchronise(a, device_worker->running);
}

void device_access(Address a, size_t bytes, Kind kind, Address pc) {
  Region* r = region_at(a);
  if (!r || !r->live || !inside(a, bytes, r->base, r->bytes))
    return tell_outside_region(nearest_region(a), a, bytes, kind, pc);
  region_access(*r, a, bytes, kind, pc);
}

void tell_outside_shared(const SharedMemory& shared, Address a, size_t bytes, Kind kind, Address pc) {
  remember_told(a, bytes);
  char where[240];
  shared.describe_outside(where, sizeof where, a, bytes);
  add_finding({.kind = "shared_out_of_bounds", .pc = pc}, "%s of %zu bytes %s", verb(kind), bytes, where);
}

// Masks of lanes often read a little more than was written; a warning, and only for whole accesses nobody wrote.
void check_written(SharedMemory& shared, const SharedVariable& v, Address a, size_t bytes, Kind kind, Address pc) {
  uint8_t* written = shared.written(a);
  if (bytes == 4 && !kind.atomic) {  // most accesses: all four marks at once
    if (kind.write) return void(std::memcpy(written, &WRITTEN_WORD, 4));
    if (std::memcmp(written, &WRITTEN_WORD, 4) == 0) return;
  }
  if ((!kind.write || kind.atomic) && std::find(written, written + bytes, 0) != written + bytes)
    add_finding({.kind = "uninitialized", .error = false, .pc = pc},
                "%s of %zu bytes at byte %zu of %s, which nothing was written to", verb(kind), bytes,
                static_cast<size_t>(a - v.base), SharedName(v).text);
  if (kind.write) std::fill(written, written + bytes, 1);
}

void shared_access(SharedMemory& shared, Address a, size_t bytes, Kind kind, Address pc) {
  const SharedVariable* v = shared.at(a);
  if (!v || !inside(a, bytes, v->base, v->bytes)) return tell_outside_shared(shared, a, bytes, kind, pc);
  check_written(shared, *v, a, bytes, kind, pc);
  if (!shared_shadow) shared_shadow = map_shared_shadow();
  races::track({shared_shadow, shared.begin(), clocks::state.block_start, v->base, v->bytes}, a, bytes, kind, pc);
  if (kind.atomic || kind.is_volatile) clocks::synchronise(a, device_worker->running);
}

bool in_own_memory(const Worker& w, Address a, size_t bytes) {
  return w.fiber_now->holds(a) || inside(a, bytes, address_of(&current), sizeof current) ||
         inside(a, bytes, address_of(w.launch->closure), w.launch->closure_bytes);
}

// A launch through a variable that holds the kernel reads that variable on the launching thread's stack.
bool reads_host_pointer(const LaunchState& launch, Address a, size_t bytes, Kind kind) {
  return !kind.write && bytes == sizeof(void*) && a % sizeof(void*) == 0 && a >= launch.host_stack_low &&
         a < launch.host_stack_high;
}

bool on_other_stack(const Worker& w, Address a) {
  return std::any_of(w.fiber.begin(), w.fiber.end(), [&](const Fiber* f) { return f && f->holds(a); });
}

void other_access(Worker& w, Address a, size_t bytes, Kind kind, Address pc) {
  Region* region = nullptr;
  const ModuleMemory memory = module_memory_at(a, address_of(reinterpret_cast<void*>(w.launch->body)), &region);
  if (memory == ModuleMemory::WRITABLE) {
    if (kind.write) note_own_work_outside();
    return spend(bytes) ? region_access(*region, a, bytes, kind, pc) : void();
  }
  if (memory == ModuleMemory::READ_ONLY && !kind.write) return;
  if (reads_host_pointer(*w.launch, a, bytes, kind)) return;
  remember_told(a, bytes);
  const char* what = on_other_stack(w, a) ? "local memory of another thread" : "host memory";
  if (a < PAGE)
    add_finding({.kind = "out_of_bounds", .pc = pc}, "%s of %zu bytes through a null pointer", verb(kind), bytes);
  else if (a >= USER_SPACE_END)
    add_finding({.kind = "out_of_bounds", .pc = pc}, "%s of %zu bytes at address 0x%zx, which belongs to no allocation",
                verb(kind), bytes, static_cast<size_t>(a));
  else
    add_finding({.kind = "host_memory", .pc = pc}, "%s of %zu bytes of %s in a kernel", verb(kind), bytes, what);
}

}  // namespace

void begin_launch(const LaunchState& launch) {
  budget = {settings.check_budget, 0, 0, 0, launch.blocks};
  clocks::begin_launch();
  races::begin_launch();
}

void end_launch() {
  if (budget.watched_blocks) statistics.kernel_bytes += budget.bytes / budget.watched_blocks * budget.blocks;
  trim_shadows();
}

// With a budget for fewer blocks than there are: half of them from the beginning, where neighbours meet, the last two,
// and a random choice of the others. One block's worth is kept in reserve, for blocks do not cost all the same.
bool is_sampled(uint64_t block, uint64_t position) {
  constexpr uint64_t LAST = 2;
  const uint64_t each = std::max<uint64_t>(1, budget.used / budget.watched_blocks);
  const uint64_t affordable = budget.limit / each;
  if (affordable > budget.blocks || position + LAST >= budget.blocks) return true;
  if (affordable <= budget.watched_blocks + LAST + 1) return false;
  const uint64_t left = affordable - budget.watched_blocks - LAST - 1;
  return position < affordable / 2 || mix(settings.seed ^ 0xC4EC, block) % (budget.blocks - position) < left;
}

bool begin_block(const Worker& w, uint64_t position) {
  const bool watch =
      budget.unlimited() || budget.watched_blocks == 0 || (!budget.spent() && is_sampled(w.block, position));
  if (!watch) return statistics.check_stopped = true, false;
  ++budget.watched_blocks;
  clocks::begin_block(w.block);
  return true;
}

void end_block(Worker&) { settle(); }
bool has_budget() { return !budget.spent(); }
void settle() {
  races::settle_write();
  races::settle_reads();
}
void fence() { clocks::fence(device_worker->running); }
void barrier_released() { clocks::barrier_released(); }
void warp_met(int warp, unsigned group, unsigned alive) { clocks::warp_met(warp, group, alive); }

void access(Address a, size_t bytes, size_t alignment, Kind kind, Address pc) {
  Worker& w = *device_worker;
  races::settle_write();
  if (bytes == 0 || in_own_memory(w, a, bytes)) return;
  if (alignment > 1 && a % alignment != 0) tell_misaligned(a, bytes, alignment, kind, pc);
  if (in_arena(a)) return spend(bytes) ? device_access(a, bytes, kind, pc) : void();
  if (w.shared.holds(a)) return spend(bytes) ? shared_access(w.shared, a, bytes, kind, pc) : void();
  other_access(w, a, bytes, kind, pc);
}

}  // namespace moore_sim::check
