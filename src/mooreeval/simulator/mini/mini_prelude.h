// What a candidate's sources are compiled behind where the small tensor header will do; precompiled. Of PyTorch's headers
// it holds the two number formats alone. The standard headers are those that ATen/ATen.h brings along.
#pragma once
#include "moore_sim/before_torch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <climits>
#include <clocale>
#include <cmath>
#include <compare>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>
#include <cwctype>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <ios>
#include <iostream>
#include <iterator>
#include <limits>
#include <locale>
#include <map>
#include <math.h>
#include <memory>
#include <mutex>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <ostream>
#include <ratio>
#include <set>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#define MOORE_MINI_HALVES
#define MOORE_MINI_SHARED
#include <moore_mini/names.h>

#define MOORE_BINDING_NAMES_APART  // torch/extension.h brings them where PyTorch does
#define MOORE_BINDING_TENSORS moore_mini
#include "bindable.h"

#include <cuda.h>

#include "moore_sim/as_nvcc.h"
