// How a candidate's functions become functions of Python without pybind11 in the candidate's own unit.
//
// pybind11's templates are most of the cost of a small extension. So the candidate's unit only lists its functions with
// the numbers of their types, and libmoore_binding.so, built once, converts by these numbers with PyTorch's and
// pybind11's own casters. A type without a number falls back to pybind11 (MOORE_SIM_REBIND), and so does a
// PYBIND11_MODULE of the candidate's own that does more than name functions and their arguments.
#pragma once
#include <ATen/ATen.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <iosfwd>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Whose tensors are bound: PyTorch's own, or another type that converts as they do (toolchains/cuda_include).
#ifndef MOORE_BINDING_TENSORS
#define MOORE_BINDING_TENSORS at
#endif

namespace moore_sim::binding {

namespace tensors = ::MOORE_BINDING_TENSORS;
template <class... T> struct TypeList {};

// The position is the number; what is new goes to the end.
using Bindable = TypeList<
    tensors::Tensor, long, int, bool, double, float, long long, unsigned long, unsigned int, std::string,
    std::optional<tensors::Tensor>, std::optional<long>, std::optional<double>, std::optional<int>, std::optional<bool>,
    std::optional<float>, std::vector<tensors::Tensor>, std::vector<long>, std::vector<int>, std::vector<double>,
    std::vector<float>, tensors::IntArrayRef, tensors::Scalar, tensors::ScalarType, tensors::Device, std::tuple<tensors::Tensor, tensors::Tensor>,
    std::tuple<tensors::Tensor, tensors::Tensor, tensors::Tensor>, std::tuple<tensors::Tensor, tensors::Tensor, tensors::Tensor, tensors::Tensor>,
    std::pair<tensors::Tensor, tensors::Tensor>, short, unsigned char, std::optional<std::vector<long>>,
    std::optional<tensors::ScalarType>, std::vector<bool>, std::array<long, 2>, std::array<long, 3>>;

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

// What is bound lives as long as the process: nothing here is ever freed, and strings of the standard library, whose
// templates every build would pay for, are left out.

// A named argument, and the value that stands for it where it is left out. `number` is that of the value's own type.
struct Named {
  const char* name = "";
  bool has_default = false;
  int number = NOTHING;  // NOTHING: None
  const void* value = nullptr;
};

// One function: `call` takes its address and pointers to its decayed arguments, and builds the decayed result in `room`.
struct Function {
  const char *name, *doc;
  void (*call)(const void* function, void* const* arguments, void* room);
  const void* function;
  const int* arguments;
  int argument_count;
  int result;
  const Named* named = nullptr;  // one for each argument, or none at all
  int named_count = 0;
  bool own = false;  // bound by the candidate itself: its exceptions become Python's as pybind11 does it, not PyTorch
};

template <class Signature> struct Caller {
  static_assert(!std::is_same_v<Signature, Signature>, "MOORE_SIM_REBIND: a callable that pybind11 has to bind");
};
template <class R, class... A> struct Caller<R (*)(A...)> {
  static constexpr int arity = sizeof...(A);
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
// Functions of one name are overloads, tried in their order.
extern "C" __attribute__((visibility("default"))) void* moore_binding_module(const char* name, const Function* functions,
                                                                              int count, const char* doc = nullptr);
// A std::string with this text.
extern "C" __attribute__((visibility("default"))) const void* moore_binding_text(const char* text);
// The exception that is being handled, as Python's ImportError; returns nullptr.
extern "C" __attribute__((visibility("default"))) void* moore_binding_failed();

#ifndef MOORE_SIM_WITH_PYBIND11
// A row with one more at its end, in new memory where it has to grow.
template <class T> T* appended(const T* row, int count, const T& more) {
  static_assert(std::is_trivially_copyable_v<T>);
  T* grown = static_cast<T*>(std::realloc(const_cast<T*>(row), (count + 1) * sizeof(T)));
  if (!grown) std::abort();
  std::memcpy(static_cast<void*>(grown + count), &more, sizeof(T));
  return grown;
}

// What sources write of pybind11 beside functions: texts, names of arguments with defaults, and a guard that is of no
// use where the caller holds no other locks.
struct None {};
struct NoGuard {};
template <class...> struct CallGuard {};

struct NamedArgument : Named {
  explicit NamedArgument(const char* text) { name = strdup(text); }
  template <class T> NamedArgument operator=(const T& default_value) const {
    NamedArgument with = *this;
    with.has_default = true;
    if constexpr (is_text<T>) {
      if (const char* text = default_value) with.keep_text(text);  // a null pointer is None
    } else if constexpr (!is_nothing<T>) {
      static_assert(!std::is_same_v<T, tensors::IntArrayRef>, "MOORE_SIM_REBIND: a view that is converted at once");
      with.keep<T>(default_value);
    }
    return with;
  }

 private:
  template <class T> static constexpr bool is_nothing =
      std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::nullopt_t> || std::is_same_v<T, None>;
  template <class T> static constexpr bool is_text =
      std::is_same_v<std::decay_t<T>, const char*> || std::is_same_v<std::decay_t<T>, char*>;
  template <class T, class V> void keep(const V& default_value) {
    number = number_of<T>();
    value = new T(default_value);
  }
  void keep_text(const char* text) {
    number = number_of<std::string>();
    value = moore_binding_text(text);
  }
};

inline void add(Function& function, const char* doc) { function.doc = strdup(doc); }
inline void add(Function& function, const NamedArgument& named) {
  function.named = appended<Named>(function.named, function.named_count, named);
  function.named_count++;
}
inline void add(Function&, const CallGuard<NoGuard>&) {}
template <class T> void add(Function&, const T&) {
  static_assert(!std::is_same_v<T, T>, "MOORE_SIM_REBIND: an annotation that only pybind11 understands");
}

// What m.doc() gives, to be assigned to.
struct Doc {
  Doc& operator=(const char* new_text) {
    text = strdup(new_text);
    return *this;
  }
  template <class T> auto operator=(const T& new_text) -> decltype(new_text.c_str(), *this) {
    return *this = new_text.c_str();
  }
  const char* text = "";
};

// What `m` is in a light PYBIND11_MODULE. Whatever else is asked of it falls back to pybind11.
class Module {
 public:
  explicit Module(const char* name) : name_(name) {}
  template <class F, class... Extra> Module& def(const char* name, F f, const Extra&... extra) {
    Function function = describe(name, f, "");
    function.own = true;
    constexpr int names = (0 + ... + std::is_same_v<Extra, NamedArgument>);
    static_assert(names == 0 || names == arity<F>(), "MOORE_SIM_REBIND: names for some of the arguments");
    (add(function, extra), ...);
    function.name = strdup(name);
    functions_ = appended(functions_, count_++, function);
    return *this;
  }
  Doc& doc() { return doc_; }
  void* finish() { return moore_binding_module(name_, functions_, count_, doc_.text); }

 private:
  template <class F> static constexpr int arity() {
    if constexpr (std::is_class_v<F>) return Caller<decltype(+std::declval<F>())>::arity;
    else return Caller<F>::arity;
  }

  const char* name_;
  Doc doc_;
  const Function* functions_ = nullptr;
  int count_ = 0;
};
#endif

}  // namespace moore_sim::binding

#ifndef MOORE_BINDING_NAMES_APART
#include "bindable_names.h"
#ifndef MOORE_SIM_WITH_PYBIND11
namespace py = pybind11;  // as torch/extension.h does
#endif
#endif
