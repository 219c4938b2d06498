// Fatal signals become findings.
#pragma once

namespace moore_sim {

void install_signal_handlers();
// Stack overflow leaves no room to handle it on the same stack: each host thread that runs kernels has another.
void give_signal_stack();
// The next SIGALRM is the first of the two that a trial may get.
void expect_alarms();

}  // namespace moore_sim
