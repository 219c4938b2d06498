// What tensor.h and cuda.h declare, by PyTorch's own operators. Compiled once for each PyTorch.
#ifndef MOORE_MINI_SHIM
#define MOORE_MINI_SHIM
#define MOORE_MINI_HALVES
#endif
#include "context.h"
#include "guard.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace moore_mini {
namespace {

using Impl = c10::TensorImpl;
using Pointer = c10::intrusive_ptr<Impl, c10::UndefinedTensorImpl>;

static_assert(sizeof(Tensor) == sizeof(at::Tensor));
#define SAME(NAME) static_assert(static_cast<int>(ScalarType::NAME) == static_cast<int>(at::ScalarType::NAME))
SAME(Byte); SAME(Char); SAME(Short); SAME(Int); SAME(Long); SAME(Half); SAME(Float); SAME(Double); SAME(ComplexHalf);
SAME(ComplexFloat); SAME(ComplexDouble); SAME(Bool); SAME(BFloat16);
static_assert(static_cast<int>(DeviceType::CUDA) == static_cast<int>(at::DeviceType::CUDA));
static_assert(static_cast<int>(DeviceType::CPU) == static_cast<int>(at::DeviceType::CPU));
static_assert(static_cast<int>(MemoryFormat::ChannelsLast3d) == static_cast<int>(at::MemoryFormat::ChannelsLast3d));
static_assert(static_cast<int>(MemoryFormat::Preserve) == static_cast<int>(at::MemoryFormat::Preserve));

// A real tensor over the same pointer, without counting it.
class Borrowed {
 public:
  explicit Borrowed(const Tensor& tensor)
      : tensor_(tensor.peek() ? at::Tensor(Pointer::reclaim(static_cast<Impl*>(tensor.peek()))) : at::Tensor()) {}
  ~Borrowed() { tensor_.unsafeReleaseTensorImpl(); }
  Borrowed(const Borrowed&) = delete;
  const at::Tensor& operator*() const { return tensor_; }
  const at::Tensor* operator->() const { return &tensor_; }

 private:
  at::Tensor tensor_;
};

Tensor owned(at::Tensor tensor) {
  return tensor.defined() ? Tensor::take(tensor.unsafeReleaseTensorImpl()) : Tensor();
}
at::IntArrayRef sizes_of(IntArrayRef sizes) { return {sizes.data(), sizes.size()}; }
at::ScalarType type_of(ScalarType type) {
  return type == ScalarType::Undefined ? at::ScalarType::Undefined : static_cast<at::ScalarType>(type);
}
at::Device device_of(Device device) { return {static_cast<at::DeviceType>(device.type()), device.index()}; }
at::Scalar scalar_of(const Scalar& value) {
  return value.is_floating() ? at::Scalar(value.floating()) : at::Scalar(value.whole());
}
at::TensorOptions options_of(const TensorOptions& options) {
  at::TensorOptions real;
  if (options.dtype_ != ScalarType::Undefined) real = real.dtype(type_of(options.dtype_));
  if (options.has_device_) real = real.device(device_of(options.device_));
  return real;
}
at::MemoryFormat format_of(MemoryFormat format) { return static_cast<at::MemoryFormat>(format); }

}  // namespace

Tensor::Tensor(const Tensor& other) {
  if (other.impl_) impl_ = at::Tensor(*Borrowed(other)).unsafeReleaseTensorImpl();
}
Tensor& Tensor::operator=(const Tensor& other) {
  Tensor copy(other);
  std::swap(impl_, copy.impl_);
  return *this;
}
Tensor::~Tensor() {
  if (impl_) Pointer::reclaim(static_cast<Impl*>(impl_));
}

#define SELF (*Borrowed(*this))
bool Tensor::is_cuda() const { return SELF.is_cuda(); }
bool Tensor::is_cpu() const { return SELF.is_cpu(); }
bool Tensor::is_contiguous(MemoryFormat format) const { return SELF.is_contiguous(format_of(format)); }
bool Tensor::is_floating_point() const { return SELF.is_floating_point(); }
int64_t Tensor::dim() const { return SELF.dim(); }
int64_t Tensor::numel() const { return SELF.numel(); }
int64_t Tensor::size(int64_t dim) const { return SELF.size(dim); }
int64_t Tensor::stride(int64_t dim) const { return SELF.stride(dim); }
IntArrayRef Tensor::sizes() const {
  const auto sizes = SELF.sizes();
  return {sizes.data(), sizes.size()};
}
IntArrayRef Tensor::strides() const {
  const auto strides = SELF.strides();
  return {strides.data(), strides.size()};
}
ScalarType Tensor::scalar_type() const {
  const auto type = SELF.scalar_type();
  return type == at::ScalarType::Undefined ? ScalarType::Undefined : static_cast<ScalarType>(type);
}
Device Tensor::device() const {
  const auto device = SELF.device();
  return {static_cast<DeviceType>(device.type()), device.index()};
}
std::size_t Tensor::itemsize() const { return SELF.itemsize(); }
std::size_t Tensor::nbytes() const { return SELF.nbytes(); }
void* Tensor::data_ptr() const { return SELF.data_ptr(); }
void* Tensor::data_of(ScalarType type) const {
  const Borrowed self(*this);
  TORCH_CHECK(self->scalar_type() == type_of(type), "expected scalar type ", type_of(type), " but found ",
              self->scalar_type());
  return self->mutable_data_ptr();
}
double Tensor::item_double() const { return SELF.item<double>(); }
int64_t Tensor::item_long() const { return SELF.item<int64_t>(); }
bool Tensor::item_bool() const { return SELF.item<bool>(); }

Tensor Tensor::contiguous(MemoryFormat format) const { return owned(SELF.contiguous(format_of(format))); }
Tensor Tensor::clone() const { return owned(SELF.clone()); }
Tensor Tensor::detach() const { return owned(SELF.detach()); }
Tensor Tensor::to(TensorOptions options) const { return owned(SELF.to(options_of(options))); }
Tensor Tensor::to(ScalarType type) const { return owned(SELF.to(type_of(type))); }
Tensor Tensor::cuda() const { return owned(SELF.cuda()); }
Tensor Tensor::cpu() const { return owned(SELF.cpu()); }
Tensor Tensor::view(IntArrayRef sizes) const { return owned(SELF.view(sizes_of(sizes))); }
Tensor Tensor::view_as(const Tensor& other) const { return owned(SELF.view_as(*Borrowed(other))); }
Tensor Tensor::reshape(IntArrayRef sizes) const { return owned(SELF.reshape(sizes_of(sizes))); }
Tensor Tensor::expand(IntArrayRef sizes) const { return owned(SELF.expand(sizes_of(sizes))); }
Tensor Tensor::permute(IntArrayRef order) const { return owned(SELF.permute(sizes_of(order))); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return owned(SELF.transpose(a, b)); }
Tensor Tensor::t() const { return owned(SELF.t()); }
Tensor Tensor::flatten(int64_t first, int64_t last) const { return owned(SELF.flatten(first, last)); }
Tensor Tensor::squeeze() const { return owned(SELF.squeeze()); }
Tensor Tensor::squeeze(int64_t dim) const { return owned(SELF.squeeze(dim)); }
Tensor Tensor::unsqueeze(int64_t dim) const { return owned(SELF.unsqueeze(dim)); }
Tensor Tensor::select(int64_t dim, int64_t index) const { return owned(SELF.select(dim, index)); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const { return owned(SELF.narrow(dim, start, length)); }
Tensor Tensor::sum() const { return owned(SELF.sum()); }
Tensor Tensor::mean() const { return owned(SELF.mean()); }
Tensor Tensor::matmul(const Tensor& other) const { return owned(SELF.matmul(*Borrowed(other))); }
const Tensor& Tensor::zero_() const {
  SELF.zero_();
  return *this;
}
const Tensor& Tensor::fill_(const Scalar& value) const {
  SELF.fill_(scalar_of(value));
  return *this;
}
const Tensor& Tensor::copy_(const Tensor& other) const {
  SELF.copy_(*Borrowed(other));
  return *this;
}

Tensor empty(IntArrayRef sizes, TensorOptions options) { return owned(at::empty(sizes_of(sizes), options_of(options))); }
Tensor zeros(IntArrayRef sizes, TensorOptions options) { return owned(at::zeros(sizes_of(sizes), options_of(options))); }
Tensor ones(IntArrayRef sizes, TensorOptions options) { return owned(at::ones(sizes_of(sizes), options_of(options))); }
Tensor full(IntArrayRef sizes, const Scalar& value, TensorOptions options) {
  return owned(at::full(sizes_of(sizes), scalar_of(value), options_of(options)));
}
Tensor empty_like(const Tensor& t, TensorOptions options) { return owned(at::empty_like(*Borrowed(t), options_of(options))); }
Tensor zeros_like(const Tensor& t, TensorOptions options) { return owned(at::zeros_like(*Borrowed(t), options_of(options))); }
Tensor ones_like(const Tensor& t, TensorOptions options) { return owned(at::ones_like(*Borrowed(t), options_of(options))); }
Tensor matmul(const Tensor& a, const Tensor& b) { return owned(at::matmul(*Borrowed(a), *Borrowed(b))); }
Tensor mm(const Tensor& a, const Tensor& b) { return owned(at::mm(*Borrowed(a), *Borrowed(b))); }
Tensor bmm(const Tensor& a, const Tensor& b) { return owned(at::bmm(*Borrowed(a), *Borrowed(b))); }
Tensor sum(const Tensor& tensor) { return owned(at::sum(*Borrowed(tensor))); }
Tensor mean(const Tensor& tensor) { return owned(at::mean(*Borrowed(tensor))); }
std::optional<Device> device_of(const Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  return tensor.device();
}

std::string Device::str() const {
  return (is_cuda() ? "cuda" : "cpu") + (has_index() ? ":" + std::to_string(index_) : "");
}

Text::~Text() { std::free(data_); }
void Text::add(const char* more, std::size_t size) {
  char* grown = static_cast<char*>(std::realloc(data_, size_ + size + 1));
  if (!grown) throw std::bad_alloc();
  data_ = grown;
  std::memcpy(data_ + size_, more, size);
  data_[size_ += size] = 0;
}
void add_text(Text& text, const char* more) { text.add(more, std::strlen(more)); }
void add_text(Text& text, char more) { text.add(&more, 1); }
void add_text(Text& text, ScalarType more) { add_text(text, c10::toString(type_of(more))); }
void add_text(Text& text, const Device& more) { add_text(text, more.str().c_str()); }
void add_text(Text& text, IntArrayRef more) {
  add_text(text, '[');
  for (std::size_t i = 0; i < more.size(); i++) {
    if (i) add_text(text, ", ");
    add_number(text, static_cast<long long>(more[i]));
  }
  add_text(text, ']');
}
void add_number(Text& text, long long more) { add_text(text, std::to_string(more).c_str()); }
void add_number(Text& text, unsigned long long more) { add_text(text, std::to_string(more).c_str()); }
void add_number(Text& text, double more) {
  char number[40];  // as an output stream writes it
  std::snprintf(number, sizeof number, "%g", more);
  add_text(text, number);
}
Text expected(const char* condition) {
  Text text;
  add_text(text, "Expected ");
  add_text(text, condition);
  add_text(text, " to be true, but got false.  (Could this error message be improved?  "
                 "If so, please report an enhancement request to PyTorch.)");
  return text;
}

void check_failed(const char* function, const char* file, int line, const Text& message) {
  ::c10::detail::torchCheckFail(function, file, static_cast<uint32_t>(line), message.c_str());
}
void assert_failed(const char* function, const char* file, int line, const char* condition, const Text& message) {
  ::c10::detail::torchInternalAssertFail(
      function, file, static_cast<uint32_t>(line),
      c10::str(condition, " INTERNAL ASSERT FAILED at ", c10::str(file), ":", line,
               ", please report a bug to PyTorch. ").c_str(),
      std::string(message.c_str()));
}
void not_implemented(const char* function, const char* file, int line, const char* name, ScalarType type) {
  throw ::c10::NotImplementedError({function, file, static_cast<uint32_t>(line)},
                                   c10::str('"', name, "\" not implemented for '", type_of(type), "'"));
}

namespace cuda {

CUDAStream getCurrentCUDAStream(DeviceIndex device) { return CUDAStream(c10::cuda::getCurrentCUDAStream(device)); }
DeviceIndex exchange_device(DeviceIndex device) { return device < 0 ? c10::cuda::current_device() : c10::cuda::ExchangeDevice(device); }
DeviceIndex current_device() { return c10::cuda::current_device(); }
DeviceIndex device_count() { return c10::cuda::device_count(); }
cudaDeviceProp* getCurrentDeviceProperties() { return at::cuda::getCurrentDeviceProperties(); }
void maybe_set_device(DeviceIndex device) { c10::cuda::MaybeSetDevice(device); }
void check(cudaError_t error, const char* file, const char* function, int line) {
#ifdef MOORE_MINI_SHARED  // the simulator's own CUDAException.h
  c10::cuda::moore_check(error, file, function, static_cast<uint32_t>(line));
#else
  c10::cuda::c10_cuda_check_implementation(static_cast<int32_t>(error), file, function, line, true);
#endif
}
CUDAGuard::CUDAGuard(Device device) : before_(-1) {
  TORCH_CHECK(device.is_cuda(), "Expected a CUDA device, but got ", device.str());
  before_ = exchange_device(device.index());
}

}  // namespace cuda
}  // namespace moore_mini
