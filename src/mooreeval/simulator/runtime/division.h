// Integer division by zero: a CPU traps, a GPU gives garbage and goes on.
#pragma once

namespace moore_sim {

// Finishes the division that raised SIGFPE as a GPU would (quotient all ones for a zero divisor; the least integer for
// its division by -1), by changing the interrupted thread's registers. False where the instruction is not understood.
bool finish_division(void* signal_context, bool& by_zero);

}  // namespace moore_sim
