#include "device_kernel.h"

#include <ATen/core/Generator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include "generator.h"
#include "memory.h"
#include "operator_log.h"
#include "rules.h"

namespace moore_device {
namespace {

// A backend that nothing registers kernels for, so that its table entries are PyTorch's own composite kernels.
constexpr auto kComposite = c10::DispatchKey::PrivateUse3;

bool wants_gradient(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() && value.toTensor().requires_grad();
  if (!value.isTensorList()) return false;
  for (const at::Tensor& tensor : value.toTensorVector())
    if (tensor.defined() && tensor.requires_grad()) return true;
  return false;
}

}  // namespace

DeviceKernel::DeviceKernel(const c10::FunctionSchema& schema)
    : name_(schema.name()),
      argument_count_(schema.arguments().size()),
      result_count_(schema.returns().size()),
      calls_(log_line(schema.name(), schema.overload_name())) {
  for (size_t i = 0; i < argument_count_; ++i) {
    const auto& argument = schema.arguments()[i];
    Kind kind;
    if (!kind_of(argument, kind)) continue;
    const bool written = argument.alias_info() && argument.alias_info()->isWrite();
    arguments_.push_back({i, kind, argument.name(), written, may_be_on_host(name_, argument.name())});
  }
}

bool DeviceKernel::kind_of(const c10::Argument& argument, Kind& kind) {
  const std::string type = argument.type()->str();
  if (type == "Tensor" || type == "Tensor?") kind = Kind::TENSOR;
  else if (type == "Tensor[]" || type == "Tensor[]?") kind = Kind::TENSORS;
  else if (type == "Tensor?[]") kind = Kind::OPTIONAL_TENSORS;
  else if (type == "Storage") kind = Kind::STORAGE;
  else if (type == "Device" || type == "Device?") kind = Kind::DEVICE;
  else if (type == "Generator" || type == "Generator?") kind = Kind::GENERATOR;
  else return false;
  return true;
}

void DeviceKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) {
  log_call(calls_);
  at::AutoDispatchBelowADInplaceOrView below_autograd;  // what runs on the host side is no part of any graph
  Aliases aliases;
  Seen seen;
  const size_t first = stack->size() - argument_count_;
  for (const auto& argument : arguments_) to_host((*stack)[first + argument.position], argument, aliases, seen);
  check_devices(seen);
  OperatorScope scope;
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  aliases.carry_back();
  results_to_device(stack, aliases);
}

void DeviceKernel::to_host(c10::IValue& value, const Argument& argument, Aliases& aliases, Seen& seen) const {
  if (value.isNone()) return;
  switch (argument.kind) {
    case Kind::TENSOR: value = host_tensor(value.toTensor(), argument, aliases, seen); break;
    case Kind::TENSORS: {
      auto tensors = value.toTensorVector();  // a copy: the caller's own list stays as it is
      for (auto& tensor : tensors) tensor = host_tensor(tensor, argument, aliases, seen);
      value = c10::IValue(c10::List<at::Tensor>(tensors));
      break;
    }
    case Kind::OPTIONAL_TENSORS: {
      c10::List<std::optional<at::Tensor>> tensors;
      for (const auto& tensor : value.toOptionalTensorVector())
        tensors.push_back(tensor ? std::optional(host_tensor(*tensor, argument, aliases, seen)) : std::nullopt);
      value = c10::IValue(std::move(tensors));
      break;
    }
    case Kind::STORAGE:
      if (value.toStorage().device().is_cuda()) value = aliases.host_storage_of(value.toStorage());
      else seen.misplace(argument, value.toStorage().device());
      break;
    case Kind::DEVICE: value = c10::Device(c10::kCPU); break;
    case Kind::GENERATOR:
      (value.toGenerator().device().is_cuda() ? seen.device_generator : seen.host_generator) = true;
      value = host_generator_of(value.toGenerator());
      break;
  }
}

at::Tensor DeviceKernel::host_tensor(const at::Tensor& tensor, const Argument& argument, Aliases& aliases,
                                     Seen& seen) const {
  if (!tensor.defined()) return tensor;
  if (tensor.is_cuda()) {
    seen.device_tensor = true;
    return aliases.host_view_of(tensor);
  }
  aliases.add_host_argument(tensor);
  const bool is_scalar = tensor.dim() == 0 && !argument.written;
  if (!is_scalar && !argument.may_be_on_host) seen.misplace(argument, tensor.device());
  return tensor;
}

void DeviceKernel::Seen::misplace(const Argument& argument, c10::Device device) {
  if (misplaced != nullptr) return;
  misplaced = &argument;
  misplaced_device = device;
}

void DeviceKernel::check_devices(const Seen& seen) const {
  TORCH_CHECK(!(seen.device_tensor && seen.misplaced),
              "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and ",
              seen.misplaced_device, "! (when checking argument for argument ", seen.misplaced ? seen.misplaced->name : "",
              " in method ", name_, ")");
  TORCH_CHECK(!(seen.device_tensor && seen.host_generator),
              "Expected a 'cuda' device type for generator but found 'cpu'");
  TORCH_CHECK(!(seen.misplaced && seen.device_generator), "Expected a 'cpu' device type for generator but found 'cuda'");
}

void DeviceKernel::results_to_device(c10::Stack* stack, Aliases& aliases) const {
  for (size_t i = stack->size() - result_count_; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = aliases.device_result_of(value.toTensor());
    } else if (value.isTensorList()) {
      auto tensors = value.toTensorVector();
      for (auto& tensor : tensors) tensor = aliases.device_result_of(tensor);
      value = c10::IValue(c10::List<at::Tensor>(tensors));
    }
  }
}

void ChoosingKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
  const bool differentiable =
      c10::GradMode::is_enabled() && std::any_of(arguments.begin(), arguments.end(), wants_gradient);
  if (differentiable) op.redispatchBoxed(c10::DispatchKeySet(kComposite), stack);
  else whole_(op, keys, stack);
}

void MissingKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "The simulated CUDA device has no kernel for ", op.operator_name());
}

}  // namespace moore_device
