#pragma once

#include "moore_sim/device.h"
