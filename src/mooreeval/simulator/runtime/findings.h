// Findings live in fixed storage: they must be writable from a signal handler, where malloc may be the thing that
// broke.
#pragma once
#include "moore_sim/runtime.h"
#include "settings.h"

namespace moore_sim {

struct Finding {
  char kind[24];
  bool error;  // else a warning
  char message[512];
  char kernel[192];  // empty: host code
  uint3 block, thread;
  Address pc, other_pc;  // return addresses; 0: none
  bool has_other_thread;
  uint3 other_thread;
  uint64_t count;
};

// Where and with whom; the kernel, block and thread are those that run now.
struct Evidence {
  const char* kind;
  bool error = true;
  Address pc = 0;
  Address other_pc = 0;
  const uint3* other_thread = nullptr;
};

// Adds a finding, or counts it again where one of the same kind, kernel and places exists. A warning that turns out
// an error becomes one. Returns its index, -1 when the table is full.
int add_finding(const Evidence& evidence, const char* format, ...) __attribute__((format(printf, 2, 3)));
void count_finding(int index);
size_t finding_count();
const Finding& finding(size_t index);
uint64_t dropped_findings();
void forget_findings();

struct LaunchRecord {
  char kernel[192];
  const char* module;  // file of the shared object whose kernel it is; null where that can't be told
  uint3 grid, block;
  size_t shared_bytes;
  uint64_t count;
};
// `body`: code of the launch, which lies in the module that has the kernel.
void log_launch(const char* kernel, const dim3& grid, const dim3& block, size_t shared_bytes, Address body);
size_t launch_record_count();
const LaunchRecord& launch_record(size_t index);

}  // namespace moore_sim
