// Guards. There is one device, so a device guard checks its argument and nothing else.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/ArrayRef.h>

#include <optional>

namespace c10::cuda {

struct C10_CUDA_API CUDAGuard {
  explicit CUDAGuard(DeviceIndex index) { set_index(index); }
  explicit CUDAGuard(Device device) { set_device(device); }
  CUDAGuard(const CUDAGuard&) = delete;
  CUDAGuard& operator=(const CUDAGuard&) = delete;

  void set_device(Device device) {
    TORCH_CHECK(device.is_cuda(), "Expected a CUDA device, but got ", device);
    set_index(device.has_index() ? device.index() : DeviceIndex(0));
  }
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex index) {
    if (index >= 0) c10::cuda::set_device(index);
  }
  Device original_device() const { return Device(DeviceType::CUDA, 0); }
  Device current_device() const { return Device(DeviceType::CUDA, 0); }
};

struct C10_CUDA_API OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device) set_device(*device);
  }
  explicit OptionalCUDAGuard(std::optional<DeviceIndex> index) {
    if (index) set_index(*index);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;

  void set_device(Device device) {
    CUDAGuard checked(device);
    device_ = Device(DeviceType::CUDA, 0);
  }
  void reset_device(Device device) { set_device(device); }
  void set_index(DeviceIndex index) { set_device(Device(DeviceType::CUDA, index)); }
  std::optional<Device> original_device() const { return device_; }
  std::optional<Device> current_device() const { return device_; }
  void reset() { device_.reset(); }

 private:
  std::optional<Device> device_;
};

struct C10_CUDA_API CUDAStreamGuard {
  explicit CUDAStreamGuard(Stream stream) : original_(getCurrentCUDAStream()) { reset_stream(stream); }
  ~CUDAStreamGuard() { setCurrentCUDAStream(original_); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;

  void reset_stream(Stream stream) { setCurrentCUDAStream(CUDAStream(stream)); }
  CUDAStream original_stream() const { return original_; }
  CUDAStream current_stream() const { return getCurrentCUDAStream(); }
  Device original_device() const { return original_.device(); }
  Device current_device() const { return original_.device(); }

 private:
  CUDAStream original_;
};

struct C10_CUDA_API OptionalCUDAStreamGuard {
  OptionalCUDAStreamGuard() = default;
  explicit OptionalCUDAStreamGuard(Stream stream) { reset_stream(stream); }
  explicit OptionalCUDAStreamGuard(std::optional<Stream> stream) {
    if (stream) reset_stream(*stream);
  }
  OptionalCUDAStreamGuard(const OptionalCUDAStreamGuard&) = delete;
  OptionalCUDAStreamGuard& operator=(const OptionalCUDAStreamGuard&) = delete;

  void reset_stream(Stream stream) { guard_.emplace(stream); }
  std::optional<CUDAStream> original_stream() const {
    return guard_ ? std::optional(guard_->original_stream()) : std::nullopt;
  }
  std::optional<CUDAStream> current_stream() const {
    return guard_ ? std::optional(guard_->current_stream()) : std::nullopt;
  }
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAStreamGuard> guard_;
};

struct C10_CUDA_API CUDAMultiStreamGuard {
  explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream> streams) : original_(getCurrentCUDAStream()) {
    if (!streams.empty()) setCurrentCUDAStream(streams.back());
  }
  ~CUDAMultiStreamGuard() { setCurrentCUDAStream(original_); }
  CUDAMultiStreamGuard(const CUDAMultiStreamGuard&) = delete;
  CUDAMultiStreamGuard& operator=(const CUDAMultiStreamGuard&) = delete;

 private:
  CUDAStream original_;
};

}  // namespace c10::cuda
