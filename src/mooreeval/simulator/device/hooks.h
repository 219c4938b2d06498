#pragma once

namespace moore_device {

// The three places where PyTorch asks for "the CUDA device" outside of operators.
void install_hooks();         // at::CUDAHooksInterface; false hopes of cuDNN, MAGMA, ... stay unfulfilled
void install_device_guard();  // devices, streams, events

}  // namespace moore_device
