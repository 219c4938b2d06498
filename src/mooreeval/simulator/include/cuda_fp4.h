// 4-bit floating types.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_HANDLE("FP4 types", __nv_fp4_e2m1)
