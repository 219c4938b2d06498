// The current stream, as c10/cuda/CUDAStream.h has it.
#pragma once
#include "check.h"

namespace moore_mini::cuda {

class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_;
};
CUDAStream getCurrentCUDAStream(DeviceIndex device = -1);

}  // namespace moore_mini::cuda
