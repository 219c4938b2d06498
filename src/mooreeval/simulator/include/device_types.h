#pragma once

#include "moore_sim/qualifiers.h"
