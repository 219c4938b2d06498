#pragma once

#include "moore_sim/runtime_api.h"
