// libmoore_binding.so: makes Python functions of the functions that a candidate lists, see bindable.h. Build:
//   g++ -std=c++20 -O1 -g0 -fPIC -shared -fvisibility=hidden binding.cpp -isystem <torch>/include
//       -isystem <torch>/include/torch/csrc/api/include -isystem <python> -L<torch>/lib -lc10 -ltorch_cpu -ltorch_python
#define MOORE_SIM_WITH_PYBIND11
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
  py::object (*to_python)(const void* value);
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

template <class T> py::object to_python(const void* value) { return py::cast(*static_cast<const T*>(value)); }

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
  static const Type types[] = {{&load<T>, &call<T>, &to_python<T>, &name<T>}...};
  return types;
}
const Type& type(int number) { return table(Bindable{})[number]; }

// What stands for an argument that is left out; a null handle where it must be given.
py::object default_of(const Named& named) {
  if (!named.has_default) return {};
  return named.number == NOTHING ? py::none() : type(named.number).to_python(named.value.get());
}

std::string argument_name(const Function& function, int i) {
  return function.named.empty() ? "arg" + std::to_string(i) : function.named[i].name;
}

std::string signature(const Function& function) {
  std::string text = "(";
  for (int i = 0; i < function.argument_count; i++) {
    text += (i ? ", " : "") + argument_name(function, i) + ": " + type(function.arguments[i]).name();
    const py::object value = function.named.empty() ? py::object() : default_of(function.named[i]);
    if (value) text += " = " + static_cast<std::string>(py::repr(value));
  }
  return text + ") -> " + (function.result == NOTHING ? "None" : type(function.result).name());
}

[[noreturn]] void refuse(const Function& function, const py::args& arguments, const py::kwargs& by_name) {
  std::string message = function.name +
      "(): incompatible function arguments. The following argument types are supported:\n    1. " + signature(function) +
      "\n\nInvoked with types: ";
  for (std::size_t i = 0; i < arguments.size(); i++) {
    message += (i ? ", " : "") + std::string(Py_TYPE(arguments[i].ptr())->tp_name);
  }
  for (auto [key, value] : by_name) {
    message += "; " + static_cast<std::string>(py::str(key)) + ": " + Py_TYPE(value.ptr())->tp_name;
  }
  throw py::type_error(message);
}

// The arguments in the function's own order; empty where they do not fit its names.
std::vector<py::object> in_order(const Function& function, const py::args& arguments, const py::kwargs& by_name) {
  const auto count = static_cast<std::size_t>(function.argument_count);
  std::vector<py::object> found;
  if (arguments.size() > count) return {};
  for (const auto& argument : arguments) found.push_back(py::reinterpret_borrow<py::object>(argument));
  std::size_t used = 0;
  for (std::size_t i = found.size(); i < count && !function.named.empty(); i++) {
    const Named& named = function.named[i];
    const bool given = by_name.contains(named.name.c_str());
    used += given;
    found.push_back(given ? py::object(by_name[named.name.c_str()]) : default_of(named));
    if (!found.back()) return {};
  }
  return found.size() == count && used == by_name.size() ? found : std::vector<py::object>{};
}

py::object run(const Function& function, const py::args& arguments, const py::kwargs& by_name) {
  const std::vector<py::object> given = in_order(function, arguments, by_name);
  if (given.empty() && (function.argument_count || arguments.size() || by_name.size())) refuse(function, arguments, by_name);
  std::vector<std::shared_ptr<void>> alive;
  std::vector<void*> addresses(function.argument_count);
  for (int i = 0; i < function.argument_count; i++) {
    alive.push_back(type(function.arguments[i]).load(given[i], &addresses[i]));
    if (!alive.back()) refuse(function, arguments, by_name);
  }
  const auto answer = [&] {
    return function.result == NOTHING ? call_void(function, addresses.data())
                                      : type(function.result).call(function, addresses.data());
  };
  if (function.own) return answer();
  HANDLE_TH_ERRORS
  return answer();
  END_HANDLE_TH_ERRORS_PYBIND
}

py::module_ make_module(const char* name, const Function* functions, int count) {
  auto module = py::module_::create_extension_module(name, nullptr, new PyModuleDef());
  for (const Function* function = functions; function != functions + count; function++) {
    std::string doc = function->name + signature(*function) + "\n\n" + function->doc;
    module.attr(function->name.c_str()) = py::cpp_function(
        [function](const py::args& arguments, const py::kwargs& by_name) { return run(*function, arguments, by_name); },
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
