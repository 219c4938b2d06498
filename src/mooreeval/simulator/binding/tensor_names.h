// What <torch/types.h> gives to namespace torch, without automatic differentiation and operator registration: their
// templates would be instantiated again in every build, for sources that hardly ever use them.
#pragma once
#include <ATen/ATen.h>

#include <optional>

// Apart, so that the whole header's own names are found first where a source gets it after all.
namespace moore_sim::tensor_names {
using Dtype = at::ScalarType;
constexpr auto kUInt8 = at::kByte, kU8 = at::kByte, kInt8 = at::kChar, kI8 = at::kChar;
constexpr auto kInt16 = at::kShort, kI16 = at::kShort, kInt32 = at::kInt, kI32 = at::kInt;
constexpr auto kInt64 = at::kLong, kI64 = at::kLong;
constexpr auto kU16 = at::kUInt16, kU32 = at::kUInt32, kU64 = at::kUInt64;
constexpr auto kFloat16 = at::kHalf, kF16 = at::kHalf, kFloat32 = at::kFloat, kF32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble, kF64 = at::kDouble;
}  // namespace moore_sim::tensor_names

namespace torch {
using namespace at;
using namespace moore_sim::tensor_names;
using std::nullopt;
using std::optional;
}  // namespace torch
