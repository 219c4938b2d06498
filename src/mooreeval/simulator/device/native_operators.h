#pragma once

namespace moore_device {

// Operators that touch no values, or for which no CPU kernel exists: registered one by one.
void register_native_operators();
// The same for the fused cells behind nn.LSTM and nn.GRU, which exist on CUDA only.
void register_recurrent_cells();

}  // namespace moore_device
