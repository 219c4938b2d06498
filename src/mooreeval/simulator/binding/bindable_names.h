// What a source that includes <torch/extension.h> sees of pybind11 where it only names functions: see bindable.h. The
// alias `py` is not here: it comes with each header that brings it in PyTorch.
#pragma once
#include "bindable.h"

#ifndef MOORE_SIM_WITH_PYBIND11
namespace pybind11 {
using arg = ::moore_sim::binding::NamedArgument;
using none = ::moore_sim::binding::None;
using gil_scoped_release = ::moore_sim::binding::NoGuard;
template <class... T> using call_guard = ::moore_sim::binding::CallGuard<T...>;
using module = ::moore_sim::binding::Module;
using module_ = ::moore_sim::binding::Module;
inline namespace literals {
inline arg operator""_a(const char* text, std::size_t) { return arg(text); }
}  // namespace literals
}  // namespace pybind11

#define MOORE_BINDING_TEXT(NAME) #NAME
// The functions live as long as the process, and each import makes a module of its own.
#define MOORE_BINDING_MODULE(NAME, VARIABLE) \
  static void moore_bind_##NAME(::moore_sim::binding::Module&); \
  extern "C" __attribute__((visibility("default"))) void* PyInit_##NAME() { \
    auto* module = new ::moore_sim::binding::Module(MOORE_BINDING_TEXT(NAME)); \
    try { \
      moore_bind_##NAME(*module); \
    } catch (...) { \
      return ::moore_sim::binding::moore_binding_failed(); \
    } \
    return module->finish(); \
  } \
  static void moore_bind_##NAME(::moore_sim::binding::Module& VARIABLE)
#define PYBIND11_MODULE(NAME, VARIABLE) MOORE_BINDING_MODULE(NAME, VARIABLE)
#endif
