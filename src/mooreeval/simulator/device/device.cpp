// A CUDA device for a process without one (libmoore_device.so): cuda:0 whose memory is the run time's arena and whose
// operators are PyTorch's own CPU kernels on that memory.
//
//   memory            allocators (kCUDA, and CPU memory asked for by an operator that runs for the device)
//   aliases           device tensors <-> CPU tensors over the same memory, for one call
//   device_kernel     the kernel that is registered for every operator; device checks
//   rules             exceptions, by operator's name
//   native_operators  factories, views
//   hooks, guard      what PyTorch asks about devices, streams, events; generator: random numbers
//   operator_log      which operators ran
//
// Composite operators stay PyTorch's: they run on device tensors as on a real device and reach the kernels here.
//
// Build: as one translation unit that includes every .cpp file of this folder (the headers of torch are most of the
// work: 12 CPU-seconds that way, 30 one by one), against any build of torch, for the CPU or for CUDA:
//   g++ -std=c++20 -O1 -g0 -fPIC -fvisibility=hidden -shared all.cpp -I<this folder> -I<simulator>/include
//       -isystem <torch>/include -isystem <torch>/include/torch/csrc/api/include -D_GLIBCXX_USE_CXX11_ABI=1
//       -L<torch>/lib -lc10 -ltorch_cpu -L<cache> -lmoore_sim -Wl,-rpath,<cache> -o libmoore_device.so
// Load it after `import torch` and after libmoore_sim.so (RTLD_GLOBAL), then call moore_device_install once.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <cstdio>
#include <set>

#include "api.h"
#include "device_kernel.h"
#include "hooks.h"
#include "memory.h"
#include "native_operators.h"
#include "rules.h"

namespace moore_device {
namespace {

using c10::DispatchKey;

// A CUDA build of PyTorch has kernels of its own, and says so for each that is replaced.
struct SilentWarnings final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

template <class Kernel, class... Arguments>
void add_kernel(const c10::OperatorHandle& op, DispatchKey key, Arguments&&... arguments) {
  auto kernel = c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(arguments...));
  auto handle = c10::Dispatcher::singleton().registerImpl(op.operator_name(), key, std::move(kernel), std::nullopt,
                                                          nullptr, "simulated device");
  new c10::RegistrationHandleRAII(std::move(handle));  // for the life of the process
}

bool has_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
}

void cover(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  const bool cpu = op.hasKernelForDispatchKey(DispatchKey::CPU);
  const bool real_cuda = op.hasKernelForDispatchKey(DispatchKey::CUDA);
  if (chooses_by_device(name)) {
    add_kernel<ChoosingKernel>(op, DispatchKey::CUDA, op.schema());
    add_kernel<ChoosingKernel>(op, DispatchKey::AutogradCUDA, op.schema());
  } else if (cpu || (has_composite(op) && (real_cuda || runs_as_a_whole(name)))) {
    add_kernel<DeviceKernel>(op, DispatchKey::CUDA, op.schema());
  } else if (real_cuda) {
    add_kernel<MissingKernel>(op, DispatchKey::CUDA);
  }
}

void cover_operators() {
  static std::set<std::pair<std::string, std::string>> covered;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (is_foreign_namespace(name) || !covered.insert({name.name, name.overload_name}).second) continue;
    if (auto op = dispatcher.findSchema(name)) cover(*op);
  }
}

void install() {
  install_allocators();
  install_hooks();
  install_device_guard();
  cover_operators();
  register_native_operators();  // after the others: the last registration is the one that counts
}

// No exception may leave through the C interface. 0, or -1 and a message on stderr.
int status_of(void (*work)()) {
  SilentWarnings silent;
  c10::WarningUtils::WarningHandlerGuard guard(&silent);
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "libmoore_device.so: %s\n", error.what());
    return -1;
  }
}

}  // namespace
}  // namespace moore_device

MOORE_DEVICE_API int moore_device_install() { return moore_device::status_of(moore_device::install); }

// Again after an extension library has added operators: covers what is new.
MOORE_DEVICE_API int moore_device_cover_operators() { return moore_device::status_of(moore_device::cover_operators); }
