// Which operators ran for the device while the log was on, and how often.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace moore_device {

// The counter of one operator; valid for ever.
std::atomic<int64_t>* log_line(const std::string& name, const std::string& overload);

extern std::atomic<bool> log_is_on;
inline void log_call(std::atomic<int64_t>* line) {
  if (log_is_on.load(std::memory_order_relaxed)) line->fetch_add(1, std::memory_order_relaxed);
}

}  // namespace moore_device
