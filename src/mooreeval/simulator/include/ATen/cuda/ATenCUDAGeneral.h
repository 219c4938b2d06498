#pragma once

#include <c10/macros/Export.h>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
