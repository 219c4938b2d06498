#pragma once

#include "moore_sim/half.h"
