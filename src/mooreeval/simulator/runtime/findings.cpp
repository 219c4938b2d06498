// The tables of findings and launches.
#include "findings.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "worker.h"

namespace moore_sim {
namespace {

constexpr size_t MAX_FINDINGS = 256;
constexpr size_t MAX_LAUNCH_RECORDS = 512;

Finding findings[MAX_FINDINGS];
LaunchRecord launches[MAX_LAUNCH_RECORDS];
std::atomic<size_t> findings_used{0}, launches_used{0};
std::atomic<uint64_t> dropped{0};
std::atomic_flag busy = ATOMIC_FLAG_INIT;

// A spin lock, and one that gives up: a signal handler may have interrupted the very thread that holds it.
class TablesLock {
 public:
  TablesLock() {
    for (int i = 0; i < 1'000'000; ++i)
      if (!busy.test_and_set(std::memory_order_acquire)) return;
  }
  ~TablesLock() { busy.clear(std::memory_order_release); }
};

void copy_text(char* to, size_t room, const char* text) { std::snprintf(to, room, "%s", text ? text : ""); }

// The loader's own text, which stays as long as the module does: for the process's life, as Python unloads none.
const char* module_of(Address code) {
  Dl_info info{};
  return code && dladdr(reinterpret_cast<void*>(code), &info) ? info.dli_fname : nullptr;
}

bool same(const uint3& a, const uint3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

Finding* existing(const Evidence& e, const char* kernel) {
  for (size_t i = 0; i < findings_used; ++i) {
    Finding& f = findings[i];
    if (f.pc == e.pc && f.other_pc == e.other_pc && std::strcmp(f.kind, e.kind) == 0 &&
        std::strcmp(f.kernel, kernel) == 0)
      return &f;
  }
  return nullptr;
}

void fill(Finding& f, const Evidence& e, const char* kernel) {
  f = Finding{};
  copy_text(f.kind, sizeof f.kind, e.kind);
  copy_text(f.kernel, sizeof f.kernel, kernel);
  f.error = e.error;
  f.pc = e.pc;
  f.other_pc = e.other_pc;
  if (in_kernel()) f.block = current.block, f.thread = current.thread;
  if (e.other_thread) f.has_other_thread = true, f.other_thread = *e.other_thread;
}

}  // namespace

int add_finding(const Evidence& evidence, const char* format, ...) {
  char kernel[sizeof(Finding::kernel)];
  copy_text(kernel, sizeof kernel, in_kernel() ? running_kernel() : "");
  TablesLock lock;
  Finding* f = existing(evidence, kernel);
  const uint64_t seen = f ? f->count : 0;
  if (f && (f->error || !evidence.error)) return f->count++, static_cast<int>(f - findings);
  if (!f) {
    if (findings_used == MAX_FINDINGS) return ++dropped, -1;
    f = &findings[findings_used];
  }
  fill(*f, evidence, kernel);
  f->count = seen + 1;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(f->message, sizeof f->message, format, arguments);
  va_end(arguments);
  const int index = static_cast<int>(f - findings);
  if (static_cast<size_t>(index) == findings_used) ++findings_used;
  return index;
}

void count_finding(int index) {
  TablesLock lock;
  if (index >= 0)
    ++findings[index].count;
  else
    ++dropped;
}

size_t finding_count() { return findings_used; }
const Finding& finding(size_t index) { return findings[index]; }
uint64_t dropped_findings() { return dropped; }

void forget_findings() {
  TablesLock lock;
  findings_used = launches_used = 0;
  dropped = 0;
}

void log_launch(const char* kernel, const dim3& grid, const dim3& block, size_t shared_bytes, Address body) {
  char name[sizeof(LaunchRecord::kernel)];
  copy_text(name, sizeof name, kernel);
  const char* const module = module_of(body);
  TablesLock lock;
  for (size_t i = 0; i < launches_used; ++i) {
    LaunchRecord& r = launches[i];
    if (r.module == module && r.shared_bytes == shared_bytes && same(r.grid, grid) && same(r.block, block) && !std::strcmp(r.kernel, name)) {
      ++r.count;
      return;
    }
  }
  if (launches_used == MAX_LAUNCH_RECORDS) return;
  LaunchRecord& r = launches[launches_used++];
  copy_text(r.kernel, sizeof r.kernel, name);
  r.module = module, r.grid = grid, r.block = block, r.shared_bytes = shared_bytes, r.count = 1;
}

size_t launch_record_count() { return launches_used; }
const LaunchRecord& launch_record(size_t index) { return launches[index]; }

}  // namespace moore_sim
