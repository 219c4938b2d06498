// cuSOLVER.
#pragma once

#include "moore_sim/unsupported_api.h"

#include "cusolver_common.h"

MOORE_SIM_UNSUPPORTED_HANDLE("cuSOLVER", cusolverDnHandle_t)

MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnCreate)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnDestroy)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnSetStream)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnSgetrf)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnSpotrf)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnSgesvd)
MOORE_SIM_UNSUPPORTED_FUNCTION("cuSOLVER", cusolverDnSsyevd)
