#include "memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstring>

#include "api.h"

namespace moore_device {
namespace {

thread_local int operator_depth = 0;

std::atomic<int64_t> live_bytes{0}, peak_bytes{0};

void count(int64_t bytes) {
  const int64_t now = live_bytes += bytes;
  for (int64_t peak = peak_bytes; now > peak && !peak_bytes.compare_exchange_weak(peak, now);) {}
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  count(-static_cast<int64_t>(moore_sim::device_bytes_from(pointer)));
  moore_sim::device_free(pointer);
}

c10::DataPtr allocate_in_arena(size_t bytes, c10::Device label) {
  if (bytes == 0) return {nullptr, nullptr, &release, label};  // as CUDA does: an empty tensor has no address
  void* pointer = moore_sim::device_malloc(bytes);
  TORCH_CHECK_WITH(OutOfMemoryError, pointer != nullptr, "CUDA out of memory. Tried to allocate ", bytes,
                   " bytes on the simulated device.");
  count(static_cast<int64_t>(moore_sim::device_bytes_from(pointer)));
  return {pointer, pointer, &release, label};
}

class ArenaAllocator final : public c10::Allocator {
 public:
  explicit ArenaAllocator(c10::Device label) : label_(label) {}
  c10::DataPtr allocate(size_t bytes) override { return allocate_in_arena(bytes, label_); }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    moore_sim::DeviceMemoryOpen open;
    std::memcpy(target, source, bytes);
  }

 private:
  c10::Device label_;
};

c10::DeleterFnPtr host_deleter = nullptr;

// For callers that allocate through raw_allocate and so lose the deleter that belongs to the address (oneDNN).
void release_either(void* pointer) {
  if (moore_sim::is_device_pointer(pointer)) release(pointer);
  else host_deleter(pointer);
}

// An arena allocation costs system calls; below this many bytes a temporary is cheaper elsewhere, and a result copied.
constexpr size_t kWorthTheArena = 64 << 10;

// Stands in for PyTorch's CPU allocator. Large results of an operator that ran for the device are born in the arena,
// which saves the copy that would move them there, and large temporaries count as device memory.
class RoutingAllocator final : public c10::Allocator {
 public:
  explicit RoutingAllocator(c10::Allocator* host) : host_(host) { host_deleter = host->raw_deleter(); }
  c10::DataPtr allocate(size_t bytes) override {
    const bool for_device = operator_depth > 0 && bytes >= kWorthTheArena;
    return for_device ? allocate_in_arena(bytes, c10::kCPU) : host_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_either; }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    host_->copy_data(target, source, bytes);
  }

 private:
  c10::Allocator* host_;
};

constexpr uint8_t kHighestPriority = 255;

}  // namespace

c10::Allocator* device_allocator() {
  static ArenaAllocator allocator(kDevice);
  return &allocator;
}

c10::Allocator* arena_cpu_allocator() {
  static ArenaAllocator allocator(c10::Device{c10::kCPU});
  return &allocator;
}

bool lives_in_arena(const c10::DataPtr& data) { return data.get_deleter() == &release; }

void install_allocators() {
  // Never destroyed: tensors may outlive every static object of this library.
  static auto* routing = new RoutingAllocator(c10::GetCPUAllocator());
  c10::SetCPUAllocator(routing, kHighestPriority);
  c10::SetAllocator(c10::kCUDA, device_allocator(), kHighestPriority);
}

OperatorScope::OperatorScope() { ++operator_depth; }
OperatorScope::~OperatorScope() { --operator_depth; }

}  // namespace moore_device

// For torch.cuda.memory_allocated and max_memory_allocated.
MOORE_DEVICE_API int64_t moore_device_memory_bytes(int peak) {
  return peak != 0 ? moore_device::peak_bytes : moore_device::live_bytes;
}
MOORE_DEVICE_API void moore_device_memory_reset_peak() {
  moore_device::peak_bytes = moore_device::live_bytes.load();
}
