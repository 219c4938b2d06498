// The one simulated device, errors, and what can be asked about a kernel.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "moore_sim/runtime_types.h"

#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

MOORE_SIM_HEADERS_BEGIN

inline constexpr int SHARED_BYTES_OPT_IN = 163 << 10;  // what cudaFuncSetAttribute may ask for

// An A100's limits: what compute capability 8.0 promises, with its smallest memory. Rates are plausible, nothing more.
inline void describe_device(cudaDeviceProp* properties) {
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "Simulated CUDA device");
  p.totalGlobalMem = size_t(40) << 30;
  p.sharedMemPerBlock = 48 << 10, p.sharedMemPerMultiprocessor = 164 << 10;
  p.sharedMemPerBlockOptin = SHARED_BYTES_OPT_IN, p.reservedSharedMemPerBlock = 1 << 10;
  p.totalConstMem = 64 << 10, p.memPitch = 0x7fffffff, p.textureAlignment = 512, p.texturePitchAlignment = 32;
  p.regsPerBlock = p.regsPerMultiprocessor = 64 << 10;
  p.warpSize = 32, p.maxThreadsPerBlock = 1024, p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32, p.multiProcessorCount = 108;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff, p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.major = 8, p.minor = 0;
  p.clockRate = 1410000, p.memoryClockRate = 1215000, p.memoryBusWidth = 5120, p.l2CacheSize = 40 << 20;
  p.canMapHostMemory = 0, p.concurrentKernels = 1, p.ECCEnabled = 1, p.asyncEngineCount = 3, p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = 1, p.globalL1CacheSupported = p.localL1CacheSupported = 1, p.deviceOverlap = 1;
  p.memoryPoolsSupported = 1;
  *properties = p;
}

inline int device_attribute(cudaDeviceAttr attribute) {
  cudaDeviceProp p;
  describe_device(&p);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrClockRate: return p.clockRate;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrConcurrentKernels: return p.concurrentKernels;
    case cudaDevAttrMemoryClockRate: return p.memoryClockRate;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing: return p.unifiedAddressing;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrMemoryPoolsSupported: return p.memoryPoolsSupported;
    default: return 0;  // features that this device lacks: integrated, mapped and managed memory, cooperative launch
  }
}

// Blocks of a kernel that fit one multiprocessor, by threads and shared memory; registers are not modelled.
inline int resident_blocks(int block_threads, size_t shared_bytes) {
  if (block_threads <= 0 || block_threads > 1024) return 0;
  const int by_threads = 2048 / ((block_threads + 31) / 32 * 32);
  const int by_shared = static_cast<int>((164u << 10) / (shared_bytes + (1u << 10)));
  return std::min({by_threads, by_shared, 32});
}

MOORE_SIM_HEADERS_END

// ------------------------------------------------------------------------------------------------ errors
MOORE_SIM_HOST cudaError_t cudaGetLastError() { return static_cast<cudaError_t>(moore_sim::last_error(true)); }
MOORE_SIM_HOST cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(moore_sim::last_error(false)); }

// ------------------------------------------------------------------------------------------------ the device
MOORE_SIM_HOST cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : moore_sim::failed(cudaErrorInvalidDevice);
}
MOORE_SIM_HOST cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  moore_sim::describe_device(properties);
  return cudaSetDevice(device);
}
MOORE_SIM_HOST cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  *value = moore_sim::device_attribute(attribute);
  return cudaSetDevice(device);
}
MOORE_SIM_HOST cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
MOORE_SIM_HOST cudaError_t cudaSetDeviceFlags(unsigned int) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaThreadSynchronize() { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaDeviceReset() { moore_sim::unsupported("cudaDeviceReset"); }
MOORE_SIM_HOST cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit) {
  *value = 1 << 20;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  cudaDeviceProp p;
  moore_sim::describe_device(&p);
  *total_bytes = p.totalGlobalMem, *free_bytes = p.totalGlobalMem / 10 * 9;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
MOORE_SIM_HOST cudaError_t cudaProfilerStart() { return cudaSuccess; }
MOORE_SIM_HOST cudaError_t cudaProfilerStop() { return cudaSuccess; }

// ------------------------------------------------------------------------------------------------ kernels
template <class K> MOORE_SIM_HOST cudaError_t cudaFuncSetAttribute(K&&, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > moore_sim::SHARED_BYTES_OPT_IN) return moore_sim::failed(cudaErrorInvalidValue);
  moore_sim::set_max_dynamic_shared(static_cast<size_t>(value));
  return cudaSuccess;
}
template <class K> MOORE_SIM_HOST cudaError_t cudaFuncSetCacheConfig(K&&, cudaFuncCache) { return cudaSuccess; }
template <class K> MOORE_SIM_HOST cudaError_t cudaFuncSetSharedMemConfig(K&&, cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class K> MOORE_SIM_HOST cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, K&&) {
  *attributes = {0, 0, 0, 1024, 32, 80, 80, 0, 48 << 10, -1};
  return cudaSuccess;
}
template <class K>
MOORE_SIM_HOST cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, K&&, int threads, size_t bytes) {
  *blocks = moore_sim::resident_blocks(threads, bytes);
  return cudaSuccess;
}
template <class K>
MOORE_SIM_HOST cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, K&&, int threads,
                                                                                  size_t bytes, unsigned int) {
  *blocks = moore_sim::resident_blocks(threads, bytes);
  return cudaSuccess;
}
// The largest block that a caller allows; the grid that fills the device with it.
template <class K>
MOORE_SIM_HOST cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid, int* block, K&&, size_t bytes = 0,
                                                              int limit = 0) {
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  *min_grid = 108 * std::max(1, moore_sim::resident_blocks(*block, bytes));
  return cudaSuccess;
}
template <class K, class BytesOfBlock>
MOORE_SIM_HOST cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid, int* block, K&& kernel,
                                                                          BytesOfBlock bytes, int limit = 0) {
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  return cudaOccupancyMaxPotentialBlockSize(min_grid, block, kernel, bytes(*block), limit);
}
