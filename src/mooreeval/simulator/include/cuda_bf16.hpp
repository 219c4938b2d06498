#pragma once

#include "moore_sim/bfloat16.h"
#include "moore_sim/half.h"
