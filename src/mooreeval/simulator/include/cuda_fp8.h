// 8-bit floating types.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_HANDLE("FP8 types", __nv_fp8_e4m3)
MOORE_SIM_UNSUPPORTED_HANDLE("FP8 types", __nv_fp8_e5m2)
MOORE_SIM_UNSUPPORTED_HANDLE("FP8 types", __nv_fp8x2_e4m3)
MOORE_SIM_UNSUPPORTED_HANDLE("FP8 types", __nv_fp8x4_e4m3)
MOORE_SIM_UNSUPPORTED_HANDLE("FP8 types", __nv_fp8_storage_t)

MOORE_SIM_UNSUPPORTED_FUNCTION("FP8 types", __nv_cvt_float_to_fp8)
MOORE_SIM_UNSUPPORTED_FUNCTION("FP8 types", __nv_cvt_fp8_to_halfraw)
