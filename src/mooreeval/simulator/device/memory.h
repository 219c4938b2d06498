// Where the tensors of the simulated device live: every allocation is one of the run time's arena allocations.
#pragma once
#include <c10/core/Allocator.h>
#include <moore_sim/runtime.h>

namespace moore_device {

inline const c10::Device kDevice{c10::kCUDA, 0};

// Allocates in the arena and labels the memory cuda:0. Throws c10::OutOfMemoryError when the arena is full.
c10::Allocator* device_allocator();

// The same memory labelled cpu: what operators that run on behalf of the device see.
c10::Allocator* arena_cpu_allocator();

// True when `data` is an allocation that one of these two made.
bool lives_in_arena(const c10::DataPtr& data);

// Makes the two allocators known to PyTorch. From then on large CPU memory that is asked for inside an OperatorScope, in
// the scope's own thread, comes from the arena; all other CPU memory comes from where it came before.
void install_allocators();

// Lives as long as one operator runs for the device: device memory is open, and the allocators above know.
class OperatorScope {
 public:
  OperatorScope();
  ~OperatorScope();
  OperatorScope(const OperatorScope&) = delete;
  OperatorScope& operator=(const OperatorScope&) = delete;

 private:
  moore_sim::DeviceMemoryOpen open_;
};

}  // namespace moore_device
