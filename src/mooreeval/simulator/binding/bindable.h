// How a candidate's functions become functions of Python without pybind11 in the candidate's own unit.
//
// pybind11's templates are most of the cost of a small extension. So the candidate's unit only lists its functions with
// the numbers of their types, and libmoore_binding.so, built once, converts by these numbers with PyTorch's and
// pybind11's own casters. A type without a number falls back to pybind11 (MOORE_SIM_REBIND), and so does a
// PYBIND11_MODULE of the candidate's own that does more than name functions.
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

// One function: `call` takes its address and pointers to its decayed arguments, and builds the decayed result in `room`.
struct Function {
  std::string name, doc;
  void (*call)(const void* function, void* const* arguments, void* room);
  const void* function;
  const int* arguments;
  int argument_count;
  int result;
};

template <class Signature> struct Caller {
  static_assert(!std::is_same_v<Signature, Signature>, "MOORE_SIM_REBIND: a callable that pybind11 has to bind");
};
template <class R, class... A> struct Caller<R (*)(A...)> {
  static constexpr int numbers[sizeof...(A) + 1] = {number_of<A>()..., NOTHING};
  template <std::size_t... I>
  static void call(R (*f)(A...), void* const* arguments, void* room, std::index_sequence<I...>) {
    (void)arguments;
    if constexpr (std::is_void_v<R>) f(static_cast<A>(*static_cast<std::decay_t<A>*>(arguments[I]))...);
    else new (room) std::decay_t<R>(f(static_cast<A>(*static_cast<std::decay_t<A>*>(arguments[I]))...));
  }
  static void entry(const void* function, void* const* arguments, void* room) {
    call(reinterpret_cast<R (*)(A...)>(const_cast<void*>(function)), arguments, room, std::index_sequence_for<A...>{});
  }
  static Function describe(const char* name, R (*f)(A...), const char* doc) {
    return {name, doc, &entry, reinterpret_cast<const void*>(f), numbers, static_cast<int>(sizeof...(A)), number_of<R>()};
  }
};
template <class R, class... A> struct Caller<R (*)(A...) noexcept> : Caller<R (*)(A...)> {};

template <class F> Function describe(const char* name, F f, const char* doc) {
  if constexpr (std::is_class_v<F>) return Caller<decltype(+f)>::describe(name, +f, doc);  // a lambda without captures
  else return Caller<F>::describe(name, f, doc);
}

// A new Python module with these functions; nullptr with Python's error set. Returns a PyObject*.
extern "C" __attribute__((visibility("default"))) void* moore_binding_module(const char* name, const Function* functions,
                                                                              int count);

// What `m` is in a light PYBIND11_MODULE: functions and their texts. Whatever else is asked of it falls back to pybind11.
class Module {
 public:
  explicit Module(const char* name) : name_(name) {}
  template <class F> Module& def(const char* name, F f, const char* doc = "") {
    functions_.push_back(describe(name, f, doc));
    return *this;
  }
  std::string& doc() { return doc_; }
  void* finish() { return moore_binding_module(name_, functions_.data(), static_cast<int>(functions_.size())); }

 private:
  const char* name_;
  std::string doc_;
  std::vector<Function> functions_;
};

}  // namespace moore_sim::binding

namespace pybind11 {}  // `namespace py = pybind11;` stands in many sources that never use it

#define MOORE_BINDING_TEXT(NAME) #NAME
#define MOORE_BINDING_MODULE(NAME, VARIABLE) \
  static void moore_bind_##NAME(::moore_sim::binding::Module&); \
  extern "C" __attribute__((visibility("default"))) void* PyInit_##NAME() { \
    static ::moore_sim::binding::Module module(MOORE_BINDING_TEXT(NAME)); \
    moore_bind_##NAME(module); \
    return module.finish(); \
  } \
  static void moore_bind_##NAME(::moore_sim::binding::Module& VARIABLE)
#define PYBIND11_MODULE(NAME, VARIABLE) MOORE_BINDING_MODULE(NAME, VARIABLE)
