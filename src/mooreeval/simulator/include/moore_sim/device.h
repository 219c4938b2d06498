// Everything that device code has without including anything.
#pragma once

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "moore_sim/atomics.h"
#include "moore_sim/bits.h"
#include "moore_sim/cached_access.h"
#include "moore_sim/coordinates.h"
#include "moore_sim/math.h"
#include "moore_sim/qualifiers.h"
#include "moore_sim/rounding.h"
#include "moore_sim/sync.h"
#include "moore_sim/vector_types.h"
#include "moore_sim/warp.h"
