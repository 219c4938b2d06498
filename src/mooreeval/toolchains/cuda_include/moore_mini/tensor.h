// A small tensor header in place of PyTorch's: what extensions of a few kernels use, declared only. Everything is
// defined once in shim.cpp, which is compiled against the real headers and linked into each module. A source that
// asks for more does not compile here and is built against PyTorch's own declarations instead; so what is here must
// mean exactly what it means there, and overloads that would be chosen otherwise must be missing.
//
// All of it lives in moore_mini; names.h makes it known as torch::, at:: and c10::, except for shim.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef MOORE_MINI_HALVES
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#endif

#ifdef MOORE_MINI_SHARED  // what is declared here comes from a library, not from the module itself
#define MOORE_MINI_LOCAL __attribute__((visibility("default")))
#else
#define MOORE_MINI_LOCAL __attribute__((visibility("hidden")))
#endif

namespace moore_mini {

// Numbers as in PyTorch; shim.cpp checks them.
enum class ScalarType : int8_t {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, BFloat16 = 15,
  Undefined = 127  // PyTorch's own number depends on its version; shim.cpp translates it
};
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
using DeviceIndex = int8_t;
using Dtype = ScalarType;

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool;
constexpr ScalarType kBFloat16 = ScalarType::BFloat16;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ != -1; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_cpu() const { return type_ == kCPU; }
  std::string str() const;  // whoever calls it has to include <string>
  bool operator==(const Device& other) const { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const { return !(*this == other); }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

// What Tensor::dtype() gives: compares with a ScalarType, but is none.
class TypeMeta {
 public:
  explicit TypeMeta(ScalarType type) : type_(type) {}
  ScalarType toScalarType() const { return type_; }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
  friend bool operator==(TypeMeta a, ScalarType b) { return a.type_ == b; }
  friend bool operator!=(TypeMeta a, ScalarType b) { return a.type_ != b; }
  friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type_; }
  friend bool operator!=(ScalarType a, TypeMeta b) { return a != b.type_; }

 private:
  ScalarType type_;
};

template <class T> class ArrayRef {
 public:
  using value_type = T;
  ArrayRef() = default;
  ArrayRef(const T& one) : data_(&one), size_(1) {}
  ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& all) : data_(all.data()), size_(all.size()) {}
  ArrayRef(const std::initializer_list<T>& all) : data_(all.begin()), size_(all.size()) {}
  template <std::size_t N> ArrayRef(const T (&all)[N]) : data_(all), size_(N) {}
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  std::vector<T> vec() const { return std::vector<T>(data_, data_ + size_); }
  bool equals(const ArrayRef& other) const {
    if (size_ != other.size_) return false;
    for (std::size_t i = 0; i < size_; i++) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
  friend bool operator==(const ArrayRef& a, const ArrayRef& b) { return a.equals(b); }
  friend bool operator!=(const ArrayRef& a, const ArrayRef& b) { return !a.equals(b); }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;

// A number that an operator takes; of the kinds that PyTorch tells apart.
class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  Scalar(double value) : is_floating_(true), floating_(value) {}
  Scalar(float value) : Scalar(static_cast<double>(value)) {}
  Scalar(int value) : whole_(value) {}
  Scalar(long value) : whole_(value) {}
  Scalar(long long value) : whole_(value) {}
  Scalar(bool) = delete;  // of a kind of its own
  bool is_floating() const { return is_floating_; }
  double floating() const { return floating_; }
  int64_t whole() const { return whole_; }

 private:
  bool is_floating_ = false;
  double floating_ = 0;
  int64_t whole_ = 0;
};

struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(TypeMeta type) : dtype_(type.toScalarType()) {}
  TensorOptions(Device device) : device_(device), has_device_(true) {}
  TensorOptions(DeviceType device) : TensorOptions(Device(device)) {}
  TensorOptions dtype(ScalarType type) const {
    TensorOptions changed = *this;
    changed.dtype_ = type;
    return changed;
  }
  TensorOptions dtype(TypeMeta type) const { return dtype(type.toScalarType()); }
  TensorOptions device(Device device) const {
    TensorOptions changed = *this;
    changed.device_ = device;
    changed.has_device_ = true;
    return changed;
  }
  TensorOptions device(DeviceType type, DeviceIndex index = -1) const { return device(Device(type, index)); }

  // Read by shim.cpp.
  ScalarType dtype_ = ScalarType::Undefined;
  Device device_ = Device(kCPU);
  bool has_device_ = false;
};

template <class T> struct TypeOf;
#define MOORE_MINI_TYPE(TYPE, NAME) \
  template <> struct TypeOf<TYPE> { static constexpr ScalarType value = ScalarType::NAME; };
MOORE_MINI_TYPE(uint8_t, Byte)
MOORE_MINI_TYPE(int8_t, Char)
MOORE_MINI_TYPE(int16_t, Short)
MOORE_MINI_TYPE(int, Int)
MOORE_MINI_TYPE(int64_t, Long)
MOORE_MINI_TYPE(float, Float)
MOORE_MINI_TYPE(double, Double)
MOORE_MINI_TYPE(bool, Bool)
#ifdef MOORE_MINI_HALVES
MOORE_MINI_TYPE(c10::Half, Half)
MOORE_MINI_TYPE(c10::BFloat16, BFloat16)
#endif

// Holds what at::Tensor holds: one counted pointer.
class MOORE_MINI_LOCAL Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor();

  bool defined() const { return impl_ != nullptr; }
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  bool is_floating_point() const;
  int64_t dim() const;
  int64_t ndimension() const { return dim(); }
  int64_t numel() const;
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  ScalarType scalar_type() const;
  TypeMeta dtype() const { return TypeMeta(scalar_type()); }
  Device device() const;
  DeviceIndex get_device() const { return device().index(); }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  std::size_t itemsize() const;
  std::size_t nbytes() const;
  int64_t element_size() const { return static_cast<int64_t>(itemsize()); }

  void* data_ptr() const;
  template <class T> T* data_ptr() const { return static_cast<T*>(data_of(TypeOf<std::remove_const_t<T>>::value)); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> const T* const_data_ptr() const { return data_ptr<T>(); }
  template <class T> T item() const {
    if constexpr (std::is_same_v<T, bool>) return item_bool();
    else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(item_double());
    else {
      static_assert(std::is_same_v<T, int64_t>, "left to PyTorch's own header");
      return item_long();
    }
  }

  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor clone() const;
  Tensor detach() const;
  Tensor to(TensorOptions options) const;
  Tensor to(ScalarType type) const;
  Tensor cuda() const;
  Tensor cpu() const;
  Tensor view(IntArrayRef sizes) const;
  Tensor view_as(const Tensor& other) const;
  Tensor reshape(IntArrayRef sizes) const;
  Tensor expand(IntArrayRef sizes) const;
  Tensor permute(IntArrayRef order) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const;
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor sum() const;
  Tensor mean() const;
  Tensor matmul(const Tensor& other) const;
  const Tensor& zero_() const;
  const Tensor& fill_(const Scalar& value) const;
  const Tensor& copy_(const Tensor& other) const;

  void* release() { return std::exchange(impl_, nullptr); }
  static Tensor take(void* impl) {
    Tensor tensor;
    tensor.impl_ = impl;
    return tensor;
  }
  void* peek() const { return impl_; }

 private:
  void* data_of(ScalarType type) const;
  double item_double() const;
  int64_t item_long() const;
  bool item_bool() const;
  void* impl_ = nullptr;
};

Tensor empty(IntArrayRef sizes, TensorOptions options = {});
Tensor zeros(IntArrayRef sizes, TensorOptions options = {});
Tensor ones(IntArrayRef sizes, TensorOptions options = {});
Tensor full(IntArrayRef sizes, const Scalar& value, TensorOptions options);
Tensor empty_like(const Tensor& tensor, TensorOptions options = {});
Tensor zeros_like(const Tensor& tensor, TensorOptions options = {});
Tensor ones_like(const Tensor& tensor, TensorOptions options = {});
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor mm(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);
Tensor sum(const Tensor& tensor);
Tensor mean(const Tensor& tensor);
std::optional<Device> device_of(const Tensor& tensor);
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device device) { return TensorOptions(device); }

// ------------------------------------------------------------------------------------------------- checks and messages
// A text without the standard library's strings: their templates would cost every build more than all the rest.
class MOORE_MINI_LOCAL Text {
 public:
  Text() = default;
  Text(Text&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ~Text();
  void add(const char* more, std::size_t size);
  const char* c_str() const { return data_ ? data_ : ""; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

[[noreturn]] void check_failed(const char* function, const char* file, int line, const Text& message);
[[noreturn]] void assert_failed(const char* function, const char* file, int line, const char* condition, const Text& message);
[[noreturn]] void not_implemented(const char* function, const char* file, int line, const char* name, ScalarType type);
void add_text(Text& text, const char* more);
void add_text(Text& text, char more);
void add_text(Text& text, ScalarType more);
void add_text(Text& text, const Device& more);
void add_text(Text& text, IntArrayRef more);
void add_number(Text& text, long long more);
void add_number(Text& text, unsigned long long more);
void add_number(Text& text, double more);

template <class T> std::enable_if_t<std::is_arithmetic_v<T>> add_text(Text& text, T more) {
  if constexpr (std::is_floating_point_v<T>) add_number(text, static_cast<double>(more));
  else if constexpr (std::is_signed_v<T>) add_number(text, static_cast<long long>(more));
  else add_number(text, static_cast<unsigned long long>(more));
}
template <class T> auto add_text(Text& text, const T& more) -> decltype(more.c_str(), void()) {
  text.add(more.c_str(), more.size());
}
template <class... T> Text text_of(const T&... parts) {
  Text text;
  (add_text(text, parts), ...);
  return text;
}
Text expected(const char* condition);
template <class... T> Text message_of(const char* condition, const T&... parts) {
  if constexpr (sizeof...(T) > 0) return text_of(parts...);
  else return expected(condition);
}

}  // namespace moore_mini

#ifndef MOORE_MINI_SHIM
#define TORCH_CHECK(CONDITION, ...)                                                                     \
  do {                                                                                                  \
    if (!(CONDITION)) {                                                                                 \
      ::moore_mini::check_failed(__func__, __FILE__, __LINE__,                                          \
                                 ::moore_mini::message_of(#CONDITION __VA_OPT__(, ) __VA_ARGS__));       \
    }                                                                                                   \
  } while (false)
#define TORCH_INTERNAL_ASSERT(CONDITION, ...)                                                           \
  do {                                                                                                  \
    if (!(CONDITION)) {                                                                                 \
      ::moore_mini::assert_failed(__func__, __FILE__, __LINE__, #CONDITION,                             \
                                  ::moore_mini::text_of(__VA_ARGS__));                                  \
    }                                                                                                   \
  } while (false)
#define AT_ASSERTM(CONDITION, ...) TORCH_CHECK(CONDITION __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) ::moore_mini::check_failed(__func__, __FILE__, __LINE__, ::moore_mini::text_of(__VA_ARGS__))

#define MOORE_MINI_CASE(NAME, TYPE, ...)      \
  case ::moore_mini::ScalarType::NAME: {      \
    using scalar_t [[maybe_unused]] = TYPE;   \
    return __VA_ARGS__();                     \
  }
#define MOORE_MINI_SWITCH(TYPE, NAME, ...)                                                        \
  [&] {                                                                                           \
    const auto& moore_mini_the_type = TYPE;                                                       \
    const ::moore_mini::ScalarType moore_mini_type = moore_mini_the_type;                         \
    switch (moore_mini_type) {                                                                    \
      __VA_ARGS__                                                                                 \
      default: ::moore_mini::not_implemented(__func__, __FILE__, __LINE__, NAME, moore_mini_type); \
    }                                                                                             \
  }()
#define MOORE_MINI_FLOATING(...) \
  MOORE_MINI_CASE(Double, double, __VA_ARGS__) MOORE_MINI_CASE(Float, float, __VA_ARGS__)
#define MOORE_MINI_WHOLE(...)                                                                   \
  MOORE_MINI_CASE(Byte, uint8_t, __VA_ARGS__) MOORE_MINI_CASE(Char, int8_t, __VA_ARGS__)        \
  MOORE_MINI_CASE(Int, int, __VA_ARGS__) MOORE_MINI_CASE(Long, int64_t, __VA_ARGS__)            \
  MOORE_MINI_CASE(Short, int16_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) MOORE_MINI_SWITCH(TYPE, NAME, MOORE_MINI_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) MOORE_MINI_SWITCH(TYPE, NAME, MOORE_MINI_WHOLE(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  MOORE_MINI_SWITCH(TYPE, NAME, MOORE_MINI_WHOLE(__VA_ARGS__) MOORE_MINI_FLOATING(__VA_ARGS__))
#ifdef MOORE_MINI_HALVES
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  MOORE_MINI_SWITCH(TYPE, NAME, MOORE_MINI_FLOATING(__VA_ARGS__) MOORE_MINI_CASE(Half, c10::Half, __VA_ARGS__))
#endif
#endif
