#pragma once

#include "moore_sim/device.h"
#include "moore_sim/runtime_api.h"
