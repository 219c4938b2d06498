// libmoore_binding.so: makes Python functions of the functions that a candidate lists, see bindable.h. Build:
//   g++ -std=c++20 -O1 -g0 -fPIC -shared -fvisibility=hidden binding.cpp -isystem <torch>/include
//       -isystem <torch>/include/torch/csrc/api/include -isystem <python> -L<torch>/lib -lc10 -ltorch_cpu -ltorch_python
#define MOORE_SIM_WITH_PYBIND11
#include "bindable.h"

#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>

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
  std::shared_ptr<void> (*load)(py::handle source, bool convert, void** address);  // null where it does not fit
  py::object (*call)(const Function& function, void* const* arguments);
  py::object (*to_python)(const void* value);
  std::string (*name)(bool as_result);
};

template <class T> std::shared_ptr<void> load(py::handle source, bool convert, void** address) {
  auto argument = std::make_shared<Argument<T>>();
  if (!argument->caster.load(source, convert)) return nullptr;
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
template <class T> std::string name(bool as_result) {
  std::string shown;
  int part = 0;  // 1: as argument, 2: as result
  for (const char* c = py::detail::make_caster<T>::name.text; *c; c++) {
    if (*c == '@') part = (part + 1) % 3;
    else if (*c != '%' && part != (as_result ? 1 : 2)) shown += *c;
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
  return named.number == NOTHING ? py::none() : type(named.number).to_python(named.value);
}

std::string argument_name(const Function& function, int i) {
  return function.named ? function.named[i].name : "arg" + std::to_string(i);
}

std::string signature(const Function& function) {
  std::string text = "(";
  for (int i = 0; i < function.argument_count; i++) {
    text += (i ? ", " : "") + argument_name(function, i) + ": " + type(function.arguments[i]).name(false);
    const py::object value = function.named ? default_of(function.named[i]) : py::object();
    if (value) text += " = " + static_cast<std::string>(py::repr(value));
  }
  return text + ") -> " + (function.result == NOTHING ? "None" : type(function.result).name(true));
}

// All functions of one name, in the order in which they were bound.
using Overloads = std::vector<const Function*>;

[[noreturn]] void refuse(const Overloads& overloads, const py::args& arguments, const py::kwargs& by_name) {
  std::string message = std::string(overloads[0]->name) +
      "(): incompatible function arguments. The following argument types are supported:\n";
  int number = 0;
  for (const Function* f : overloads) message += "    " + std::to_string(++number) + ". " + signature(*f) + "\n";
  message += "\nInvoked with types: ";
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
  for (std::size_t i = found.size(); i < count && function.named; i++) {
    const Named& named = function.named[i];
    const bool given = by_name.contains(named.name);
    used += given;
    found.push_back(given ? py::object(by_name[named.name]) : default_of(named));
    if (!found.back()) return {};
  }
  return found.size() == count && used == by_name.size() ? found : std::vector<py::object>{};
}

// Arguments as C++ has them, for as long as the function runs.
struct Converted {
  std::vector<std::shared_ptr<void>> alive;
  std::vector<void*> addresses;
};

bool load_all(const Function& function, const std::vector<py::object>& given, bool convert, Converted& converted) {
  converted.addresses.resize(function.argument_count);
  for (int i = 0; i < function.argument_count; i++) {
    converted.alive.push_back(type(function.arguments[i]).load(given[i], convert, &converted.addresses[i]));
    if (!converted.alive.back()) return false;
  }
  return true;
}

py::object answer(const Function& function, void* const* arguments) {
  return function.result == NOTHING ? call_void(function, arguments)
                                    : type(function.result).call(function, arguments);
}

py::object answer_as_pytorch(const Function& function, void* const* arguments) {
  HANDLE_TH_ERRORS
  return answer(function, arguments);
  END_HANDLE_TH_ERRORS_PYBIND
}

// As pybind11 chooses: the first that takes the arguments as they are, else the first that can convert them.
py::object run(const Overloads& overloads, const py::args& arguments, const py::kwargs& by_name) {
  for (bool convert : {false, true}) {
    if (!convert && overloads.size() == 1) continue;
    for (const Function* function : overloads) {
      const std::vector<py::object> given = in_order(*function, arguments, by_name);
      if (given.empty() && (function->argument_count || arguments.size() || by_name.size())) continue;
      Converted converted;
      if (!load_all(*function, given, convert, converted)) continue;
      try {
        return (function->own ? answer : answer_as_pytorch)(*function, converted.addresses.data());
      } catch (const py::reference_cast_error&) {
      }
    }
  }
  refuse(overloads, arguments, by_name);
}

// The text that pybind11 writes.
std::string doc_of(const Overloads& overloads) {
  const bool several = overloads.size() > 1;
  std::string text = several ? std::string(overloads[0]->name) + "(*args, **kwargs)\nOverloaded function.\n\n" : "";
  int number = 0;
  for (const Function* function : overloads) {
    if (number++) text += "\n";
    if (several) text += std::to_string(number) + ". ";
    text += function->name + signature(*function) + "\n";
    if (*function->doc) text += std::string("\n") + function->doc + "\n";
  }
  return text;
}

std::vector<Overloads> by_name(const Function* functions, int count) {
  std::vector<Overloads> found;
  for (const Function* function = functions; function != functions + count; function++) {
    Overloads* mine = nullptr;
    for (Overloads& overloads : found) mine = std::strcmp(overloads[0]->name, function->name) == 0 ? &overloads : mine;
    if (mine) mine->push_back(function);
    else found.push_back({function});
  }
  return found;
}

py::module_ make_module(const char* name, const Function* functions, int count, const char* doc) {
  auto module = py::module_::create_extension_module(name, nullptr, new PyModuleDef());
  if (doc && *doc) module.doc() = doc;
  py::options options;
  options.disable_function_signatures();  // they would be those of a function of anything
  for (const Overloads& overloads : by_name(functions, count)) {
    const char* called = overloads[0]->name;
    module.attr(called) = py::cpp_function(
        [overloads](const py::args& arguments, const py::kwargs& by_name) { return run(overloads, arguments, by_name); },
        py::name(called), py::scope(module), py::doc(doc_of(overloads).c_str()));
  }
  return module;
}

}  // namespace

extern "C" const void* moore_binding_text(const char* text) { return new std::string(text); }

extern "C" void* moore_binding_failed() {
  try {
    throw;
  } catch (py::error_already_set& error) {
    py::raise_from(error, PyExc_ImportError, "initialization failed");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  return nullptr;
}

extern "C" void* moore_binding_module(const char* name, const Function* functions, int count, const char* doc) {
  try {
    return make_module(name, functions, count, doc).release().ptr();
  } catch (...) {
    return moore_binding_failed();
  }
}

}  // namespace moore_sim::binding
