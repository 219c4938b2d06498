// The JSON report, and the ways out of the process that write it.
#pragma once
#include <string>

#include "settings.h"

namespace moore_sim {

inline constexpr int EXIT_BAD_ACCESS = 77, EXIT_TRAP = 78, EXIT_UNSUPPORTED = 79, EXIT_TIME_OVER = 80;

struct Statistics {
  bool check_stopped = false;  // some block ran unwatched because of the budget
  uint64_t threads = 0;        // simulated threads that were started
  uint64_t watched = 0;        // accesses that check mode looked at
  uint64_t kernel_bytes = 0;   // that watched launches read and wrote, unwatched blocks estimated
};
extern Statistics statistics;
extern uint64_t resets;  // how often all this was forgotten: more often than trials began, and somebody has reasons

std::string report_as_text();
// Writes the report to the report's descriptor (without one, to standard error) and leaves; safe in a signal handler.
// The first caller wins, others wait.
[[noreturn]] void report_and_leave(int code);
void remember_unsupported(const char* feature);

}  // namespace moore_sim
