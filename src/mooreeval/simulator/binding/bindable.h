// How a candidate's functions become functions of Python without pybind11 in the candidate's own unit.
//
// pybind11's templates are most of the cost of a small extension. So the candidate's unit only lists its functions with
// the numbers of their types, and libmoore_binding.so, built once, converts by these numbers with PyTorch's and
// pybind11's own casters. A type without a number falls back to pybind11 (MOORE_SIM_REBIND).
#pragma once
#include <ATen/ATen.h>
#include <torch/types.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace moore_sim::binding {

template <class... T> struct TypeList {};

// The position is the number; what is new goes to the end.
using Bindable = TypeList<
    at::Tensor, long, int, bool, double, float, long long, unsigned long, unsigned int, std::string,
    std::optional<at::Tensor>, std::optional<long>, std::optional<double>, std::optional<int>, std::optional<bool>,
    std::optional<float>, std::vector<at::Tensor>, std::vector<long>, std::vector<int>, std::vector<double>,
    std::vector<float>, at::IntArrayRef, at::Scalar, at::ScalarType, at::Device, std::tuple<at::Tensor, at::Tensor>,
    std::tuple<at::Tensor, at::Tensor, at::Tensor>, std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>,
    std::pair<at::Tensor, at::Tensor>, short, unsigned char, std::optional<std::vector<long>>,
    std::optional<at::ScalarType>, std::vector<bool>, std::array<long, 2>, std::array<long, 3>>;

inline constexpr int NOTHING = -1;  // void

template <class T, class L> struct NumberOf;
template <class T, class... R> struct NumberOf<T, TypeList<T, R...>> : std::integral_constant<int, 0> {};
template <class T, class F, class... R>
struct NumberOf<T, TypeList<F, R...>> : std::integral_constant<int, 1 + NumberOf<T, TypeList<R...>>::value> {};
template <class T> struct NumberOf<T, TypeList<>> : std::integral_constant<int, 0> {
  static_assert(!std::is_same_v<T, T>, "MOORE_SIM_REBIND: a type that pybind11 has to convert");
};
template <class T> constexpr int number_of() {
  if constexpr (std::is_void_v<T>) return NOTHING;
  else return NumberOf<std::decay_t<T>, Bindable>::value;
}

// One function: `call` takes pointers to its decayed arguments and builds the decayed result in `room`.
struct Function {
  const char* name;
  const char* doc;
  void (*call)(void* const* arguments, void* room);
  const int* arguments;
  int argument_count;
  int result;
};

template <class Signature> struct Caller;
template <class R, class... A> struct Caller<R (*)(A...)> {
  static constexpr int numbers[sizeof...(A) + 1] = {number_of<A>()..., NOTHING};
  template <R (*F)(A...), std::size_t... I>
  static void call(void* const* arguments, void* room, std::index_sequence<I...>) {
    (void)arguments;
    if constexpr (std::is_void_v<R>) F(static_cast<A>(*static_cast<std::decay_t<A>*>(arguments[I]))...);
    else new (room) std::decay_t<R>(F(static_cast<A>(*static_cast<std::decay_t<A>*>(arguments[I]))...));
  }
  template <R (*F)(A...)> static void entry(void* const* arguments, void* room) {
    call<F>(arguments, room, std::index_sequence_for<A...>{});
  }
  template <R (*F)(A...)> static constexpr Function describe(const char* name, const char* doc) {
    return {name, doc, &entry<F>, numbers, static_cast<int>(sizeof...(A)), number_of<R>()};
  }
};
template <class R, class... A> struct Caller<R (*)(A...) noexcept> : Caller<R (*)(A...)> {};

template <auto F> constexpr Function describe(const char* name, const char* doc) {
  return Caller<decltype(F)>::template describe<F>(name, doc);
}

// A new Python module with these functions; nullptr with Python's error set. Returns a PyObject*.
extern "C" __attribute__((visibility("default"))) void* moore_binding_module(const char* name, const Function* functions,
                                                                              int count);

}  // namespace moore_sim::binding
