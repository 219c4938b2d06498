// Asynchronous copies to shared memory.
#pragma once

#include "moore_sim/unsupported_api.h"

MOORE_SIM_UNSUPPORTED_FUNCTION("asynchronous copies", __pipeline_memcpy_async)
MOORE_SIM_UNSUPPORTED_FUNCTION("asynchronous copies", __pipeline_commit)
MOORE_SIM_UNSUPPORTED_FUNCTION("asynchronous copies", __pipeline_wait_prior)
