// Export macros. Everything of c10::cuda is inline here, and hidden: on a CUDA build of PyTorch the real library is in
// the same process, and neither may bind to the other's symbols.
#pragma once

#include <c10/macros/Macros.h>

#define C10_CUDA_EXPORT __attribute__((visibility("hidden")))
#define C10_CUDA_IMPORT C10_CUDA_EXPORT
#define C10_CUDA_API C10_CUDA_EXPORT
#define C10_COMPILE_TIME_MAX_GPUS 120
