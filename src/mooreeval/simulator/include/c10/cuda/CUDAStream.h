// Streams in PyTorch's words. Work runs when it is submitted, so all streams behave alike; they only have to be told
// apart.
#pragma once

#include <c10/core/Stream.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <functional>
#include <ostream>
#include <tuple>

namespace c10::cuda {

static constexpr int max_compile_time_stream_priorities = 4;

class C10_CUDA_API CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  explicit CUDAStream(Stream stream) : stream_(stream) { TORCH_CHECK(stream_.device_type() == DeviceType::CUDA); }
  explicit CUDAStream(Unchecked, Stream stream) : stream_(stream) {}

  bool operator==(const CUDAStream& other) const noexcept { return stream_ == other.stream_; }
  bool operator!=(const CUDAStream& other) const noexcept { return !(*this == other); }
  operator cudaStream_t() const { return stream(); }
  operator Stream() const { return stream_; }

  DeviceType device_type() const { return DeviceType::CUDA; }
  DeviceIndex device_index() const { return stream_.device_index(); }
  Device device() const { return Device(DeviceType::CUDA, device_index()); }
  StreamId id() const { return stream_.id(); }
  Stream unwrap() const { return stream_; }
  bool query() const { return true; }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream())); }
  bool is_capturing() const { return false; }
  int priority() const { return 0; }
  static std::tuple<int, int> priority_range() { return {0, 1 - max_compile_time_stream_priorities}; }

  // Id 0 is the default stream, whose handle is null. Other handles are never dereferenced.
  cudaStream_t stream() const { return reinterpret_cast<cudaStream_t>(static_cast<intptr_t>(id())); }

  struct c10::StreamData3 pack3() const { return stream_.pack3(); }
  static CUDAStream unpack3(StreamId id, DeviceIndex device, DeviceType type) {
    return CUDAStream(Stream::unpack3(id, device, type));
  }

 private:
  Stream stream_;
};

C10_CUDA_API inline CUDAStream moore_stream(StreamId id) {
  return CUDAStream(CUDAStream::UNCHECKED, Stream(Stream::UNSAFE, Device(DeviceType::CUDA, 0), id));
}
C10_CUDA_API inline StreamId& moore_current_stream() {
  static thread_local StreamId id = 0;
  return id;
}
C10_CUDA_API inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return moore_stream(0); }
C10_CUDA_API inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return moore_stream(moore_current_stream()); }
C10_CUDA_API inline void setCurrentCUDAStream(CUDAStream stream) { moore_current_stream() = stream.id(); }
C10_CUDA_API inline CUDAStream getStreamFromPool(const int, DeviceIndex = -1) {
  static thread_local StreamId taken = 0;
  return moore_stream(64 * (1 + taken++ % 32));  // a pool of 32, as PyTorch's
}
C10_CUDA_API inline CUDAStream getStreamFromPool(const bool = false, DeviceIndex device = -1) {
  return getStreamFromPool(0, device);
}
C10_CUDA_API inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex) {
  return moore_stream(static_cast<StreamId>(reinterpret_cast<intptr_t>(stream)));
}
C10_CUDA_API inline std::ostream& operator<<(std::ostream& out, const CUDAStream& stream) {
  return out << stream.unwrap();
}

}  // namespace c10::cuda

template <> struct std::hash<c10::cuda::CUDAStream> {
  size_t operator()(c10::cuda::CUDAStream stream) const noexcept { return std::hash<c10::Stream>{}(stream.unwrap()); }
};
