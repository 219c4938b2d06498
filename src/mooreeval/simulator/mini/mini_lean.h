// The same as mini_prelude.h without what is expensive to have at hand: strings, streams, threads, shared pointers, special
// functions, half precision. Functions of theirs that are inline use templates, and a precompiled header leaves it to each
// build to instantiate them.
#pragma once
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <math.h>
#include <new>
#include <numbers>
#include <numeric>
#include <optional>
#include <ratio>
#include <set>
#include <stdlib.h>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#define MOORE_MINI_SHARED
#include <moore_mini/names.h>

#define MOORE_BINDING_NAMES_APART  // torch/extension.h brings them where PyTorch does
#define MOORE_BINDING_TENSORS moore_mini
#include "bindable.h"

#include <cuda.h>

#include "moore_sim/as_nvcc.h"
