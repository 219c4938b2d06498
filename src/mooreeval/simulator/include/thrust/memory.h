#pragma once

#include "moore_sim/thrust.h"
