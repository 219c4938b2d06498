// Names for messages: which of the launch's parameters an allocation is known by.
#pragma once
#include "arena.h"
#include "worker.h"

namespace moore_sim {

// " (parameter x)", or where only its position is known " (argument 2 of the launch)"; empty where no argument, or more
// than one, points into the allocation. Arguments that are structures count by the pointers in them.
struct ParameterName {
  ParameterName(const LaunchState& launch, const Region& region);
  char text[96] = "";
};

}  // namespace moore_sim
