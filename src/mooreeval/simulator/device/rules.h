// Which operators run how on the simulated device. Names are "namespace::name", without overload.
#pragma once
#include <ATen/core/operator_name.h>

#include <string>

namespace moore_device {

// No tensors of one device: communication, profiling, tests.
bool is_foreign_namespace(const c10::OperatorName& name);

// Composite operators that must run on the host as a whole: they choose an implementation by device (and then the CPU
// choice gives the CPU's bits), or run in one step over long lists of tensors.
bool runs_as_a_whole(const c10::OperatorName& name);

// Composite operators whose CPU and CUDA paths differ. They run as a whole when no gradient is wanted, and otherwise as
// PyTorch composes them.
bool chooses_by_device(const c10::OperatorName& name);

// Whether argument `argument` of the operator may be a CPU tensor beside device tensors, as on a real device.
bool may_be_on_host(const std::string& op, const std::string& argument);

}  // namespace moore_device
