// Events in PyTorch's words: created when first recorded.
#pragma once

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#include <utility>

namespace c10::cuda {

struct C10_CUDA_API CUDAEvent {
  CUDAEvent() noexcept = default;
  CUDAEvent(unsigned int flags) noexcept : flags_(flags) {}
  ~CUDAEvent() {
    if (event_) cudaEventDestroy(event_);
  }
  CUDAEvent(const CUDAEvent&) = delete;
  CUDAEvent& operator=(const CUDAEvent&) = delete;
  CUDAEvent(CUDAEvent&& other) noexcept { swap(other); }
  CUDAEvent& operator=(CUDAEvent&& other) noexcept {
    swap(other);
    return *this;
  }

  operator cudaEvent_t() const { return event_; }
  friend bool operator<(const CUDAEvent& left, const CUDAEvent& right) { return left.event_ < right.event_; }
  std::optional<Device> device() const {
    return event_ ? std::optional(Device(DeviceType::CUDA, 0)) : std::nullopt;
  }
  bool isCreated() const { return event_ != nullptr; }
  DeviceIndex device_index() const { return 0; }
  cudaEvent_t event() const { return event_; }
  bool query() const { return true; }
  void record() { record(getCurrentCUDAStream()); }
  void recordOnce(const CUDAStream& stream) {
    if (!event_) record(stream);
  }
  void record(const CUDAStream& stream) {
    if (!event_) C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
  }
  void block(const CUDAStream& stream) {
    if (event_) C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_));
  }
  void synchronize() const {
    if (event_) C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }
  float elapsed_time(const CUDAEvent& end) const {
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, end.event_));
    return milliseconds;
  }

 private:
  void swap(CUDAEvent& other) noexcept { std::swap(flags_, other.flags_), std::swap(event_, other.event_); }
  unsigned int flags_ = cudaEventDisableTiming;
  cudaEvent_t event_ = nullptr;
};

}  // namespace c10::cuda
