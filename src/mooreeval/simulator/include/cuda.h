#pragma once

#include "moore_sim/driver_api.h"
