// libmoore_binding.so: makes Python functions of the functions that a candidate lists, see bindable.h. Build:
//   g++ -std=c++20 -O1 -g0 -fPIC -shared -fvisibility=hidden binding.cpp -isystem <torch>/include
//       -isystem <torch>/include/torch/csrc/api/include -isystem <python> -L<torch>/lib -lc10 -ltorch_cpu -ltorch_python
#include "bindable.h"

#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <memory>

namespace py = pybind11;

namespace moore_sim::binding {
namespace {

// An argument converted from Python, alive while the function runs. Views (IntArrayRef) point into their caster.
template <class T> struct Argument {
  py::detail::make_caster<T> caster;
  std::optional<T> value;
};

// What to do with one type of the list.
struct Type {
  std::shared_ptr<void> (*load)(py::handle source, void** address);  // null where the object does not convert
  py::object (*call)(const Function& function, void* const* arguments);
  std::string (*name)();
};

template <class T> std::shared_ptr<void> load(py::handle source, void** address) {
  auto argument = std::make_shared<Argument<T>>();
  if (!argument->caster.load(source, /*convert=*/true)) return nullptr;
  argument->value.emplace(py::detail::cast_op<T>(std::move(argument->caster)));
  *address = &*argument->value;
  return argument;
}

template <class T> py::object call(const Function& function, void* const* arguments) {
  alignas(T) unsigned char room[sizeof(T)];
  function.call(function.function, arguments, room);
  struct End {
    T& value;
    ~End() { value.~T(); }
  } result{*std::launder(reinterpret_cast<T*>(room))};
  return py::cast(std::move(result.value));
}

py::object call_void(const Function& function, void* const* arguments) {
  function.call(function.function, arguments, nullptr);
  return py::none();
}

// pybind11 writes "@as argument@as result@" where the two differ, and % for a class.
template <class T> std::string name() {
  std::string text = py::detail::make_caster<T>::name.text, shown;
  bool second = false;
  for (char c : text) {
    if (c == '@') second = !second && !shown.empty() ? true : second;
    else if (!second && c != '%') shown += c;
  }
  return shown;
}

template <class... T> const Type* table(TypeList<T...>) {
  static const Type types[] = {{&load<T>, &call<T>, &name<T>}...};
  return types;
}
const Type& type(int number) { return table(Bindable{})[number]; }

std::string signature(const Function& function) {
  std::string text = "(";
  for (int i = 0; i < function.argument_count; i++) {
    text += (i ? ", arg" : "arg") + std::to_string(i) + ": " + type(function.arguments[i]).name();
  }
  return text + ") -> " + (function.result == NOTHING ? "None" : type(function.result).name());
}

[[noreturn]] void refuse(const Function& function, const py::args& arguments) {
  std::string message = function.name +
      "(): incompatible function arguments. The following argument types are supported:\n    1. " + signature(function) +
      "\n\nInvoked with types: ";
  for (std::size_t i = 0; i < arguments.size(); i++) {
    message += (i ? ", " : "") + std::string(Py_TYPE(arguments[i].ptr())->tp_name);
  }
  throw py::type_error(message);
}

py::object run(const Function& function, const py::args& arguments, const py::kwargs& named) {
  if (named.size() || arguments.size() != static_cast<std::size_t>(function.argument_count)) refuse(function, arguments);
  std::vector<std::shared_ptr<void>> alive;
  std::vector<void*> addresses(function.argument_count);
  for (int i = 0; i < function.argument_count; i++) {
    alive.push_back(type(function.arguments[i]).load(arguments[i], &addresses[i]));
    if (!alive.back()) refuse(function, arguments);
  }
  HANDLE_TH_ERRORS
  return function.result == NOTHING ? call_void(function, addresses.data())
                                    : type(function.result).call(function, addresses.data());
  END_HANDLE_TH_ERRORS_PYBIND
}

py::module_ make_module(const char* name, const Function* functions, int count) {
  auto module = py::module_::create_extension_module(name, nullptr, new PyModuleDef());
  for (const Function* function = functions; function != functions + count; function++) {
    std::string doc = function->name + signature(*function) + "\n\n" + function->doc;
    module.attr(function->name.c_str()) = py::cpp_function(
        [function](const py::args& arguments, const py::kwargs& named) { return run(*function, arguments, named); },
        py::name(function->name.c_str()), py::doc(doc.c_str()));
  }
  return module;
}

}  // namespace

extern "C" void* moore_binding_module(const char* name, const Function* functions, int count) {
  try {
    return make_module(name, functions, count).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  return nullptr;
}

}  // namespace moore_sim::binding
