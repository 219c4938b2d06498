// Device memory: every allocation ends at a guard page, and an address is not used again for a long time.
#pragma once
#include "settings.h"

namespace moore_sim {

// What the race detector remembers about four neighbouring bytes (see shadow.h).
struct ShadowWord;

// Memory that kernels may touch: one allocation, or the writable data of a candidate's module.
struct Region {
  Address base = 0;
  size_t bytes = 0;
  bool live = true;
  bool accessible = false;
  bool module_data = false;      // __device__ variables; not from device_malloc
  bool own_work = false;         // a watched kernel wrote to it, or a copy or operator brought something of that here
  bool weights = false;          // of the model's, as the judge made them
  ShadowWord* shadow = nullptr;  // made at the first watched access
  size_t shadow_bytes = 0;
  Address map = 0;  // first accessible page
  size_t map_bytes = 0;
  size_t first_granule = 0, granules = 0;
};

extern Address arena_begin;
extern size_t arena_bytes;
inline bool in_arena(Address a) { return a - arena_begin < arena_bytes; }

// The allocation, live or freed, that holds `a` or whose guard space does; nullptr where there never was one.
Region* region_at(Address a);
// For messages: that, or the last one before `a`.
Region* nearest_region(Address a);
// Device memory is opened piece by piece, by the fault of the first access: an operator touches few of a model's
// hundreds of tensors, and changing a protection costs time for every page. True if `a` may be accessed now.
bool open_on_fault(Address a);
// Memory that is open for kernels: what they touch is told by check mode, and nothing is carried over at the end.
class OpenForKernels {
 public:
  OpenForKernels();
  ~OpenForKernels();
};
// Where what kernels wrote has gone. Copies and operators are seen by the allocations that they touch: if one of them
// holds kernels' work, all do afterwards. What touched no other took it to the host, from where it may go anywhere.
bool host_saw_own_work();
void note_own_work_outside();  // in memory that is not followed
void forget_host_work();
uint64_t peak_device_bytes();
void limit_device_memory(uint64_t bytes);

}  // namespace moore_sim
