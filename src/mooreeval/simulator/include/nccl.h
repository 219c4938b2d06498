// NCCL.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_HANDLE("NCCL", ncclComm_t)
MOORE_SIM_UNSUPPORTED_HANDLE("NCCL", ncclResult_t)

MOORE_SIM_UNSUPPORTED_FUNCTION("NCCL", ncclCommInitAll)
MOORE_SIM_UNSUPPORTED_FUNCTION("NCCL", ncclAllReduce)
MOORE_SIM_UNSUPPORTED_FUNCTION("NCCL", ncclBroadcast)
