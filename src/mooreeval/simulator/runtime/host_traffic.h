// What crosses between the device and the host, by copies of the run time and by operators. A candidate whose host code
// has the task's data in its hands can compute with them, and then a kernel has only to write the result down.
#pragma once
#include "settings.h"

namespace moore_sim {

struct HostTraffic {
  uint64_t foreign_taken = 0;  // bytes that the host took of memory which no watched kernel had written; not weights
  uint64_t own_taken = 0;      // of memory that one had
  uint64_t own_before_launch = 0;  // of these, what the host had when the last kernel was launched
  uint64_t given = 0;              // that the host gave the device, and that had not come from there as they are
  uint64_t returned = 0;           // that had
};
extern HostTraffic host_traffic;

void note_launch_for_traffic();

void forget_host_traffic();

}  // namespace moore_sim
