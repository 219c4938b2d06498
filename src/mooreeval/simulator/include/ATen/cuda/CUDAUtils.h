#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContext.h>

namespace at::cuda {
C10_CUDA_API inline bool check_device(ArrayRef<Tensor> tensors) {
  for (const Tensor& tensor : tensors)
    if (!tensor.is_cuda()) return false;
  return true;
}
}  // namespace at::cuda
