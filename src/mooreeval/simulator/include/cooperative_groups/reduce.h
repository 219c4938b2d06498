#pragma once

#include "moore_sim/groups.h"
