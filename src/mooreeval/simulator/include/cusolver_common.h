// cuSOLVER.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_HANDLE("cuSOLVER", cusolverStatus_t)

MOORE_SIM_UNSUPPORTED_CONSTANT("cuSOLVER", CUSOLVER_STATUS_SUCCESS)
