// cuDNN. Often included and not called.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnHandle_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnStatus_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnTensorDescriptor_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnFilterDescriptor_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnConvolutionDescriptor_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnPoolingDescriptor_t)
MOORE_SIM_UNSUPPORTED_HANDLE("cuDNN", cudnnActivationDescriptor_t)

MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnCreate)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnDestroy)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnSetStream)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnCreateTensorDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnSetTensor4dDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnSetTensorNdDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnDestroyTensorDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnCreateFilterDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnSetFilter4dDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnCreateConvolutionDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnSetConvolution2dDescriptor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnConvolutionForward)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnConvolutionBackwardData)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnGetConvolutionForwardWorkspaceSize)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnSoftmaxForward)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnPoolingForward)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnActivationForward)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnAddTensor)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnBatchNormalizationForwardInference)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuDNN", cudnnGetErrorString)

MOORE_SIM_UNSUPPORTED_CONSTANT("cuDNN", CUDNN_STATUS_SUCCESS)
MOORE_SIM_UNSUPPORTED_CONSTANT("cuDNN", CUDNN_TENSOR_NCHW)
MOORE_SIM_UNSUPPORTED_CONSTANT("cuDNN", CUDNN_DATA_FLOAT)
