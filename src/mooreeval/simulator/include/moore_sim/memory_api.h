// cudaMalloc, cudaMemcpy, cudaMemset and their relatives. Copies are synchronous, whatever their name says, and every
// one is checked: the direction against what the pointers are, the size against the allocation.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "moore_sim/runtime_types.h"

MOORE_SIM_HEADERS_BEGIN

// Addresses of __device__ and __constant__ variables that the program asked for. They lie in the extension's own data,
// not among the device allocations, and are device pointers all the same.
struct SymbolRange { const char* begin; size_t bytes; };
struct SymbolRanges {
  static constexpr int CAPACITY = 256;
  SymbolRange range[CAPACITY] = {};
  int count = 0;
  void add(const void* begin, size_t bytes) {
    for (int i = 0; i < count; ++i)
      if (range[i].begin == begin) return;
    if (count < CAPACITY) range[count++] = {static_cast<const char*>(begin), bytes};
  }
  size_t bytes_from(const void* pointer) const {
    const auto* p = static_cast<const char*>(pointer);
    for (int i = 0; i < count; ++i)
      if (p >= range[i].begin && p < range[i].begin + range[i].bytes) return range[i].begin + range[i].bytes - p;
    return 0;
  }
};
inline constinit SymbolRanges symbol_ranges;

// Bytes of device memory from `pointer` to the end of its allocation or variable; 0 when it is host memory.
inline size_t device_extent(const void* pointer) {
  const size_t bytes = device_bytes_from(pointer);
  return bytes ? bytes : symbol_ranges.bytes_from(pointer);
}

// nullptr when [pointer, pointer + bytes) is memory of the expected side, else what is wrong with it.
inline const char* range_fault(const void* pointer, size_t bytes, bool expect_device) {
  if (pointer == nullptr) return "is a null pointer";
  const size_t extent = device_extent(pointer);
  if (expect_device && extent == 0) return "is not a device pointer";
  if (!expect_device && extent != 0) return "is a device pointer, and host memory was announced";
  if (expect_device && extent < bytes) return "has fewer bytes left in its allocation than the call touches";
  return nullptr;
}

inline cudaError_t memory_misuse(const char* call, const char* which, const char* fault, size_t bytes) {
  char message[256];
  std::snprintf(message, sizeof message, "%s of %zu bytes: the %s %s", call, bytes, which, fault);
  return misused(cudaErrorInvalidValue, message);
}

inline cudaError_t checked_copy(const char* call, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  const bool by_pointers = kind == cudaMemcpyDefault;
  const bool to_device = by_pointers ? device_extent(to) != 0 : kind & 1;
  const bool from_device = by_pointers ? device_extent(from) != 0 : kind & 2;
  if (kind < 0 || kind > cudaMemcpyDefault) return misused(cudaErrorInvalidMemcpyDirection, "unknown cudaMemcpyKind");
  if (const char* fault = range_fault(to, bytes, kind == cudaMemcpyDeviceToDevice || to_device))
    return memory_misuse(call, "destination", fault, bytes);
  if (const char* fault = range_fault(from, bytes, from_device)) return memory_misuse(call, "source", fault, bytes);
  if (to_device && !from_device) note_given(from, bytes);
  {
    DeviceMemoryOpen open;
    std::memmove(to, from, bytes);
  }
  if (from_device && !to_device) note_taken(from, to, bytes);
  return cudaSuccess;
}

inline cudaError_t checked_fill(const char* call, void* to, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  if (const char* fault = range_fault(to, bytes, true)) return memory_misuse(call, "destination", fault, bytes);
  DeviceMemoryOpen open;
  std::memset(to, value, bytes);
  return cudaSuccess;
}

// A rectangle of `height` rows of `width` bytes; row by row, so that both ends of the rectangle are checked.
inline cudaError_t checked_copy_2d(const char* call, void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                   size_t width, size_t height, cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch)
    return misused(cudaErrorInvalidPitchValue, "cudaMemcpy2D: a row is wider than its pitch");
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = checked_copy(call, static_cast<char*>(to) + row * to_pitch,
                                           static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

inline cudaError_t allocate(void** pointer, size_t bytes) {
  if (pointer == nullptr) return misused(cudaErrorInvalidValue, "cudaMalloc: null address for the result");
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = device_malloc(bytes);
  return *pointer ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

MOORE_SIM_HEADERS_END

// ------------------------------------------------------------------------------------------------ allocation
template <class T> MOORE_SIM_HOST cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return moore_sim::allocate(reinterpret_cast<void**>(pointer), bytes);
}
template <class T> MOORE_SIM_HOST cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
template <class T>
MOORE_SIM_HOST cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
template <class T> MOORE_SIM_HOST cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}
MOORE_SIM_HOST cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr || moore_sim::device_free(pointer)) return cudaSuccess;
  return moore_sim::failed(cudaErrorInvalidValue);  // device_free has reported it
}
MOORE_SIM_HOST cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

// Pinned memory is host memory; kernels may not read it here, as host and device memory are kept apart.
template <class T> MOORE_SIM_HOST cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int = 0) {
  *pointer = static_cast<T*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *pointer || bytes == 0 ? cudaSuccess : moore_sim::failed(cudaErrorMemoryAllocation);
}
template <class T> MOORE_SIM_HOST cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int flags) {
  if (flags & cudaHostAllocMapped) moore_sim::unsupported("mapped host memory");
  return cudaMallocHost(pointer, bytes);
}
MOORE_SIM_HOST cudaError_t cudaFreeHost(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaHostRegister(void*, size_t, unsigned int) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
template <class T> MOORE_SIM_HOST cudaError_t cudaHostGetDevicePointer(T**, void*, unsigned int) {
  moore_sim::unsupported("mapped host memory");
}
template <class T> MOORE_SIM_HOST cudaError_t cudaMallocManaged(T**, size_t, unsigned int = cudaMemAttachGlobal) {
  moore_sim::unsupported("managed memory");
}
template <class L> MOORE_SIM_HOST cudaError_t cudaMemPrefetchAsync(const void*, size_t, L, cudaStream_t = nullptr) {
  return cudaSuccess;
}
template <class L> MOORE_SIM_HOST cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, L) {
  return cudaSuccess;
}

// ------------------------------------------------------------------------------------------------ copies and fills
MOORE_SIM_HOST cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return moore_sim::checked_copy("cudaMemcpy", to, from, bytes, kind);
}
MOORE_SIM_HOST cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                           cudaStream_t = nullptr) {
  return moore_sim::checked_copy("cudaMemcpyAsync", to, from, bytes, kind);
}
MOORE_SIM_HOST cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return moore_sim::checked_copy("cudaMemcpyPeer", to, from, bytes, cudaMemcpyDeviceToDevice);
}
MOORE_SIM_HOST cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                               cudaStream_t = nullptr) {
  return moore_sim::checked_copy("cudaMemcpyPeerAsync", to, from, bytes, cudaMemcpyDeviceToDevice);
}
MOORE_SIM_HOST cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                        size_t height, cudaMemcpyKind kind) {
  return moore_sim::checked_copy_2d("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, kind);
}
MOORE_SIM_HOST cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                             size_t width, size_t height, cudaMemcpyKind kind,
                                             cudaStream_t = nullptr) {
  return moore_sim::checked_copy_2d("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, kind);
}
MOORE_SIM_HOST cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return moore_sim::checked_fill("cudaMemset", to, value, bytes);
}
MOORE_SIM_HOST cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t = nullptr) {
  return moore_sim::checked_fill("cudaMemsetAsync", to, value, bytes);
}
MOORE_SIM_HOST cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    void* const start = static_cast<char*>(to) + row * pitch;
    const cudaError_t error = moore_sim::checked_fill("cudaMemset2D", start, value, width);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                             cudaStream_t = nullptr) {
  return cudaMemset2D(to, pitch, value, width, height);
}

// ------------------------------------------------------------------------------------------------ variables
template <class T> MOORE_SIM_HOST cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  *pointer = const_cast<void*>(static_cast<const volatile void*>(&symbol));
  moore_sim::symbol_ranges.add(*pointer, sizeof(T));
  return cudaSuccess;
}
template <class T> MOORE_SIM_HOST cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}
template <class T>
MOORE_SIM_HOST cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                              cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  void* address;
  cudaGetSymbolAddress(&address, symbol);
  return moore_sim::checked_copy("cudaMemcpyToSymbol", static_cast<char*>(address) + offset, from, bytes, kind);
}
template <class T>
MOORE_SIM_HOST cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                                   cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                   cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
MOORE_SIM_HOST cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                                cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  void* address;
  cudaGetSymbolAddress(&address, symbol);
  return moore_sim::checked_copy("cudaMemcpyFromSymbol", to, static_cast<char*>(address) + offset, bytes, kind);
}
template <class T>
MOORE_SIM_HOST cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                     cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}

// ------------------------------------------------------------------------------------------------ queries
MOORE_SIM_HOST cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const bool device = moore_sim::device_extent(pointer) != 0;
  void* p = const_cast<void*>(pointer);
  *attributes = {device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, 0, device ? p : nullptr, nullptr};
  return cudaSuccess;
}
MOORE_SIM_HOST cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
MOORE_SIM_HOST cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
MOORE_SIM_HOST cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width, size_t height) {
  return {pointer, pitch, width, height};
}
