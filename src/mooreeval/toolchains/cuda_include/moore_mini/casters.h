// How pybind11 converts what tensor.h declares: as PyTorch's own types. For the bindings of modules that are built
// against tensor.h; included before simulator/binding/binding.cpp.
#pragma once
#ifndef MOORE_MINI_SHIM
#define MOORE_MINI_SHIM
#endif
#include "tensor.h"

#include <torch/csrc/utils/pybind.h>

namespace moore_mini {
inline Tensor from_real(at::Tensor real) {
  return real.defined() ? Tensor::take(real.unsafeReleaseTensorImpl()) : Tensor();
}
inline at::Tensor to_real(const Tensor& tensor) {
  using Pointer = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  Tensor counted(tensor);
  return counted.defined() ? at::Tensor(Pointer::reclaim(static_cast<c10::TensorImpl*>(counted.release()))) : at::Tensor();
}
}  // namespace moore_mini

namespace pybind11::detail {

template <> struct type_caster<moore_mini::Tensor> {
  PYBIND11_TYPE_CASTER(moore_mini::Tensor, make_caster<at::Tensor>::name);
  bool load(handle source, bool convert) {
    make_caster<at::Tensor> real;
    if (!real.load(source, convert)) return false;
    value = moore_mini::from_real(cast_op<at::Tensor&>(real));
    return true;
  }
  static handle cast(const moore_mini::Tensor& tensor, return_value_policy policy, handle parent) {
    return make_caster<at::Tensor>::cast(moore_mini::to_real(tensor), policy, parent);
  }
};

template <> struct type_caster<moore_mini::IntArrayRef> {
  PYBIND11_TYPE_CASTER(moore_mini::IntArrayRef, make_caster<at::IntArrayRef>::name);
  bool load(handle source, bool convert) {
    make_caster<at::IntArrayRef> real;
    if (!real.load(source, convert)) return false;
    kept_ = cast_op<at::IntArrayRef>(real).vec();
    value = moore_mini::IntArrayRef(kept_);
    return true;
  }
  static handle cast(moore_mini::IntArrayRef sizes, return_value_policy policy, handle parent) {
    return make_caster<at::IntArrayRef>::cast(at::IntArrayRef(sizes.data(), sizes.size()), policy, parent);
  }

 private:
  std::vector<int64_t> kept_;
};

template <> struct type_caster<moore_mini::Scalar> {
  PYBIND11_TYPE_CASTER(moore_mini::Scalar, make_caster<at::Scalar>::name);
  bool load(handle source, bool convert) {
    make_caster<at::Scalar> real;
    if (!real.load(source, convert)) return false;
    const at::Scalar number = cast_op<at::Scalar>(real);
    if (!number.isFloatingPoint() && !number.isIntegral(/*includeBool=*/false)) return false;
    value = number.isFloatingPoint() ? moore_mini::Scalar(number.toDouble()) : moore_mini::Scalar(number.toLong());
    return true;
  }
  static handle cast(const moore_mini::Scalar& number, return_value_policy policy, handle parent) {
    const at::Scalar real = number.is_floating() ? at::Scalar(number.floating()) : at::Scalar(number.whole());
    return make_caster<at::Scalar>::cast(real, policy, parent);
  }
};

template <> struct type_caster<moore_mini::ScalarType> {
  PYBIND11_TYPE_CASTER(moore_mini::ScalarType, make_caster<at::ScalarType>::name);
  bool load(handle source, bool convert) {
    make_caster<at::ScalarType> real;
    if (!real.load(source, convert)) return false;
    value = static_cast<moore_mini::ScalarType>(cast_op<at::ScalarType>(real));
    return true;
  }
  static handle cast(moore_mini::ScalarType type, return_value_policy policy, handle parent) {
    return make_caster<at::ScalarType>::cast(static_cast<at::ScalarType>(type), policy, parent);
  }
};

template <> struct type_caster<moore_mini::Device> {
  static constexpr auto name = make_caster<at::Device>::name;
  template <class> using cast_op_type = moore_mini::Device;
  operator moore_mini::Device() { return value; }
  bool load(handle source, bool convert) {
    make_caster<at::Device> real;
    if (!real.load(source, convert)) return false;
    const at::Device device = cast_op<at::Device>(real);
    value = moore_mini::Device(static_cast<moore_mini::DeviceType>(device.type()), device.index());
    return true;
  }
  static handle cast(moore_mini::Device device, return_value_policy policy, handle parent) {
    return make_caster<at::Device>::cast(at::Device(static_cast<at::DeviceType>(device.type()), device.index()), policy, parent);
  }
  moore_mini::Device value{moore_mini::kCPU};
};

}  // namespace pybind11::detail
