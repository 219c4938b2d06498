#pragma once

#include "moore_sim/vector_types.h"
