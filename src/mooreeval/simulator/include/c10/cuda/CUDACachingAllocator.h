// Temporary memory through PyTorch's names. There is no cache: every allocation has its own guard page.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAStream.h>

namespace c10::cuda::CUDACachingAllocator {

C10_CUDA_API inline Allocator* get() { return c10::GetAllocator(DeviceType::CUDA); }
C10_CUDA_API inline void* raw_alloc(size_t bytes) {
  void* pointer = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&pointer, bytes));
  return pointer;
}
C10_CUDA_API inline void* raw_alloc_with_stream(size_t bytes, cudaStream_t) { return raw_alloc(bytes); }
C10_CUDA_API inline void raw_delete(void* pointer) { C10_CUDA_CHECK(cudaFree(pointer)); }
C10_CUDA_API inline void emptyCache() {}
C10_CUDA_API inline void recordStream(const DataPtr&, CUDAStream) {}

}  // namespace c10::cuda::CUDACachingAllocator
