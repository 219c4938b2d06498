#pragma once

namespace moore_device {

// Operators that touch no values, or for which no CPU kernel exists: registered one by one.
void register_native_operators();

}  // namespace moore_device
