// Compilation at run time.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_HANDLE("NVRTC", nvrtcProgram)
MOORE_SIM_UNSUPPORTED_HANDLE("NVRTC", nvrtcResult)

MOORE_SIM_UNSUPPORTED_FUNCTION("NVRTC", nvrtcCreateProgram)
MOORE_SIM_UNSUPPORTED_FUNCTION("NVRTC", nvrtcCompileProgram)
MOORE_SIM_UNSUPPORTED_FUNCTION("NVRTC", nvrtcGetPTX)
MOORE_SIM_UNSUPPORTED_FUNCTION("NVRTC", nvrtcDestroyProgram)
