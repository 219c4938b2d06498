// Fatal signals become findings.
#pragma once

namespace moore_sim {

void install_signal_handlers();
// Stack overflow leaves no room to handle it on the same stack: each host thread that runs kernels has another.
void give_signal_stack();

}  // namespace moore_sim
