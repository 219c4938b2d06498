// Looks through the copied arguments for addresses; only once something is to be told.
#include "naming.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace moore_sim {
namespace {

bool points_into(const Argument& argument, const Region& r) {
  const auto* words = static_cast<const unsigned char*>(argument.address);
  for (size_t at = 0; at + sizeof(Address) <= argument.bytes; at += sizeof(Address)) {
    Address value;
    std::memcpy(&value, words + at, sizeof value);
    if (value - r.base < std::max<size_t>(r.bytes, 1)) return true;
  }
  return false;
}

// The name at a position of "x,y,n"; of length zero where there is none.
const char* name_at(const char* names, size_t position, int& length) {
  for (; position && *names; ++names) position -= *names == ',';
  length = position ? 0 : static_cast<int>(std::strcspn(names, ","));
  return names;
}

}  // namespace

ParameterName::ParameterName(const LaunchState& launch, const Region& region) {
  const Argument* const end = launch.arguments.first + launch.arguments.count;
  const auto wanted = [&](const Argument& argument) { return points_into(argument, region); };
  const Argument* const found = std::find_if(launch.arguments.first, end, wanted);
  if (found == end || std::find_if(found + 1, end, wanted) != end) return;
  const auto position = static_cast<size_t>(found - launch.arguments.first);
  int length = 0;
  const char* name = name_at(launch.parameters, position, length);
  if (length)
    std::snprintf(text, sizeof text, " (parameter %.*s)", length, name);
  else
    std::snprintf(text, sizeof text, " (argument %zu of the launch)", position + 1);
}

}  // namespace moore_sim
