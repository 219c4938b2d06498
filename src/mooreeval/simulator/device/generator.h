// Random numbers on the device are the CPU's: the same seed gives the same values on both.
#pragma once
#include <ATen/core/Generator.h>

namespace moore_device {

// A generator of device cuda:0 with its own state, seeded like a fresh CPU generator.
at::Generator new_generator();
// The device's default generator; it shares its state with the CPU's default generator.
const at::Generator& default_generator();
// The CPU generator inside a device generator; any other generator as it is.
at::Generator host_generator_of(const at::Generator& generator);

}  // namespace moore_device
