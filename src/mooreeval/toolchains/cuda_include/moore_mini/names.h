// The names that PyTorch's headers give to what tensor.h declares.
#pragma once
#include "tensor.h"

namespace c10 {
using namespace ::moore_mini;
using std::nullopt;
using std::optional;
}  // namespace c10
namespace at {
using namespace ::moore_mini;
#ifdef MOORE_MINI_HALVES
using c10::BFloat16;
using c10::Half;
#endif
}  // namespace at
namespace torch {
using namespace ::at;
using std::nullopt;
using std::optional;
constexpr auto kUInt8 = at::kByte, kU8 = at::kByte, kInt8 = at::kChar, kI8 = at::kChar;
constexpr auto kInt16 = at::kShort, kI16 = at::kShort, kInt32 = at::kInt, kI32 = at::kInt;
constexpr auto kInt64 = at::kLong, kI64 = at::kLong;
constexpr auto kFloat16 = at::kHalf, kF16 = at::kHalf, kFloat32 = at::kFloat, kF32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble, kF64 = at::kDouble;
}  // namespace torch
