// Host side of the kernels that test the headers: what the rewriter and a PyTorch extension would do.
#pragma once
#include <cuda_runtime.h>

#include <initializer_list>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LAUNCH(kernel, grid, block, ...) \
  ([=](auto&... a) { kernel(a...); } % ::moore_sim::Launch(#kernel, grid, block, 0, nullptr))(__VA_ARGS__)

// A device copy of a host array; `back()` copies it to the host again.
template <class T> struct OnDevice {
  T* host; size_t count; T* data = nullptr;
  OnDevice(const void* host_, size_t count_) : host(static_cast<T*>(const_cast<void*>(host_))), count(count_) {
    cudaMalloc(&data, count * sizeof(T));
    cudaMemcpy(data, host, count * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~OnDevice() { cudaFree(data); }
  void back() { cudaMemcpy(host, data, count * sizeof(T), cudaMemcpyDeviceToHost); }
  operator T*() const { return data; }
};
