// Factories and views. Views copy nothing, so they neither open device memory nor appear in the log.
#include "native_operators.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "memory.h"

namespace moore_device {
namespace {

using at::ScalarType;
using at::Tensor;
template <class T> using Maybe = std::optional<T>;

const c10::DispatchKeySet kCudaKeys{c10::DispatchKey::CUDA};

void check_device(const Maybe<at::Device>& device, const Maybe<bool>& pin_memory) {
  TORCH_CHECK(!device || !device->has_index() || device->index() == 0,
              "CUDA error: invalid device ordinal (the simulated device is cuda:0)");
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

ScalarType type_or_default(const Maybe<ScalarType>& type) {
  return type.value_or(c10::get_default_dtype_as_scalartype());
}

Tensor empty(at::IntArrayRef sizes, Maybe<ScalarType> type, Maybe<at::Layout>, Maybe<at::Device> device,
             Maybe<bool> pin_memory, Maybe<at::MemoryFormat> format) {
  check_device(device, pin_memory);
  return Tensor(at::detail::empty_generic(sizes, device_allocator(), kCudaKeys, type_or_default(type), format));
}

Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, Maybe<ScalarType> type, Maybe<at::Layout>,
                     Maybe<at::Device> device, Maybe<bool> pin_memory) {
  check_device(device, pin_memory);
  return Tensor(at::detail::empty_strided_generic(sizes, strides, device_allocator(), kCudaKeys, type_or_default(type)));
}

void record_stream(Tensor&, at::Stream) {}  // every stream is done before anyone could ask

// The fused attention kernels of CUDA do not exist here, and those of the CPU are no choice for device tensors.
int64_t choose_attention(const Tensor&, const Tensor&, const Tensor&, const Maybe<Tensor>&, double, bool, Maybe<double>,
                         bool) {
  constexpr int64_t kMath = 0;  // at::SDPBackend::math
  return kMath;
}

}  // namespace

void register_native_operators() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  library->impl("empty.memory_format", TORCH_FN(empty));
  library->impl("empty_strided", TORCH_FN(empty_strided));
  library->impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library->impl("view", TORCH_FN(at::native::view));
  library->impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library->impl("unfold", TORCH_FN(at::native::unfold));
  library->impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library->impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  library->impl("record_stream", TORCH_FN(record_stream));
  library->impl("_fused_sdp_choice", TORCH_FN(choose_attention));
  at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_attention);
}

}  // namespace moore_device
