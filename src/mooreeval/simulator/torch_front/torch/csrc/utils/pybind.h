// Stands before torch/csrc/utils/pybind.h, which with_python.h has read without its alias `py`.
#include_next <torch/csrc/utils/pybind.h>
namespace py = pybind11;
