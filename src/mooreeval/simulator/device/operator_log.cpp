#include "operator_log.h"

#include <map>
#include <mutex>

#include "api.h"

namespace moore_device {
namespace {

std::mutex mutex;
std::map<std::string, std::atomic<int64_t>>& lines() {
  static auto* all = new std::map<std::string, std::atomic<int64_t>>;  // counters outlive every kernel
  return *all;
}

}  // namespace

std::atomic<bool> log_is_on{false};

std::atomic<int64_t>* log_line(const std::string& name, const std::string& overload) {
  std::lock_guard lock(mutex);
  return &lines()[overload.empty() ? name : name + "." + overload];
}

MOORE_DEVICE_API void moore_device_log_start() {
  std::lock_guard lock(mutex);
  for (auto& [name, count] : lines()) count = 0;
  log_is_on = true;
}

MOORE_DEVICE_API void moore_device_log_stop() { log_is_on = false; }
MOORE_DEVICE_API void moore_device_log_resume() { log_is_on = true; }

// {"aten::add.Tensor": 3, ...}; valid until the next call. Operators' names hold nothing that JSON would escape.
MOORE_DEVICE_API const char* moore_device_log_read() {
  static std::string text;
  std::lock_guard lock(mutex);
  text = "{";
  for (const auto& [name, count] : lines())
    if (count > 0) text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + std::to_string(count);
  text += "}";
  return text.c_str();
}

}  // namespace moore_device
