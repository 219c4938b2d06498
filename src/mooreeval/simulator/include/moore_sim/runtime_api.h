// The CUDA run-time API.
#pragma once

#include "moore_sim/device_api.h"
#include "moore_sim/launch_api.h"
#include "moore_sim/memory_api.h"
#include "moore_sim/runtime_types.h"
#include "moore_sim/stream_api.h"
#include "moore_sim/unsupported_api.h"
#include "moore_sim/vector_types.h"
