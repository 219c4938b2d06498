#include "aliases.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstring>

#include "memory.h"

namespace moore_device {
namespace {

// A lent address holds a reference to the storage that owns it, so that a kernel may keep an alias for as long as it
// likes.
void return_lent(void* storage_impl) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(storage_impl)); }

c10::DataPtr lend(const c10::Storage& owner) {
  auto* impl = owner.unsafeGetStorageImpl();
  c10::raw::intrusive_ptr::incref(impl);
  return {impl->mutable_data(), impl, &return_lent, c10::Device(c10::kCPU)};
}

bool same(const c10::Storage& a, const c10::Storage& b) { return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl(); }

c10::Storage new_storage(c10::DataPtr data, size_t bytes, c10::Allocator* allocator) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                            std::move(data), allocator, /*resizable=*/true));
}

// Takes the memory out of a CPU storage and labels it cuda:0; copies it when a kernel allocated it elsewhere.
c10::DataPtr take_for_device(const c10::Storage& host) {
  if (lives_in_arena(host.data_ptr())) {
    c10::DataPtr data = host.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr());
    data.unsafe_set_device(kDevice);
    return data;
  }
  c10::DataPtr data = device_allocator()->allocate(host.nbytes());
  if (host.nbytes() > 0) std::memcpy(data.get(), host.data(), host.nbytes());
  return data;
}

at::Tensor same_geometry(const at::Tensor& like, c10::Storage storage, c10::DispatchKey key) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  at::Tensor tensor(std::move(impl));
  if (like.is_conj()) tensor._set_conj(true);
  if (like.is_neg()) tensor._set_neg(true);
  return tensor;
}

}  // namespace

c10::Storage Aliases::host_storage_of(const c10::Storage& device_storage) {
  for (const auto& pair : storages_)
    if (same(pair.device, device_storage)) return pair.host;
  auto host = new_storage(lend(device_storage), device_storage.nbytes(), arena_cpu_allocator());
  storages_.push_back({device_storage, host, device_storage.mutable_data()});
  return host;
}

at::Tensor Aliases::host_view_of(const at::Tensor& device_tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(device_tensor.layout() == c10::kStrided && device_tensor.has_storage(),
                              "The simulated device only knows dense, strided tensors, not ", device_tensor.layout());
  for (const auto& pair : tensors_)
    if (pair.device.is_same(device_tensor)) return pair.host;
  auto host = same_geometry(device_tensor, host_storage_of(device_tensor.storage()), c10::DispatchKey::CPU);
  tensors_.push_back({device_tensor, host});
  return host;
}

void Aliases::add_host_argument(const at::Tensor& tensor) { host_arguments_.push_back(tensor); }

void Aliases::carry_back() {
  for (auto& pair : storages_) carry_back_storage(pair);
  for (auto& pair : tensors_) carry_back_tensor(pair);
}

void Aliases::carry_back_storage(StoragePair& pair) {
  const bool untouched = pair.host.data() == pair.lent && pair.host.nbytes() == pair.device.nbytes();
  if (untouched) return;
  auto* device = pair.device.unsafeGetStorageImpl();
  if (pair.host.data() != pair.lent) device->set_data_ptr_noswap(take_for_device(pair.host));
  device->set_nbytes(pair.host.nbytes());
}

void Aliases::carry_back_tensor(TensorPair& pair) {
  auto* device = pair.device.unsafeGetTensorImpl();
  auto storage = device_storage_of(pair.host.storage());
  if (!same(storage, pair.device.storage())) device->set_storage_keep_dtype(std::move(storage));
  const bool same = pair.device.sizes() == pair.host.sizes() && pair.device.strides() == pair.host.strides() &&
                    pair.device.storage_offset() == pair.host.storage_offset();
  if (!same) device->set_sizes_and_strides(pair.host.sizes(), pair.host.strides(), pair.host.storage_offset());
}

c10::Storage Aliases::device_storage_of(const c10::Storage& host_storage) {
  for (const auto& pair : storages_)
    if (same(pair.host, host_storage)) return pair.device;
  auto device = new_storage(take_for_device(host_storage), host_storage.nbytes(), device_allocator());
  storages_.push_back({device, host_storage, nullptr});
  return device;
}

at::Tensor Aliases::device_result_of(const at::Tensor& host_result) {
  if (!host_result.defined()) return host_result;
  TORCH_CHECK_NOT_IMPLEMENTED(host_result.layout() == c10::kStrided && host_result.is_cpu() && host_result.has_storage(),
                              "The simulated device only knows dense, strided tensors, not ", host_result.layout());
  for (const auto& pair : tensors_)
    if (pair.host.is_same(host_result)) return pair.device;
  for (const auto& argument : host_arguments_)
    if (argument.is_same(host_result) || argument.is_alias_of(host_result)) return host_result;
  return same_geometry(host_result, device_storage_of(host_result.storage()), c10::DispatchKey::CUDA);
}

}  // namespace moore_device
