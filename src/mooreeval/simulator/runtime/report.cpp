// JSON without malloc: one writer, two sinks (a string, a file descriptor).
#include "report.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "arena.h"
#include "findings.h"
#include "host_traffic.h"

namespace moore_sim {

Statistics statistics;
uint64_t resets = 0;

namespace {

char unsupported_feature[256];

class Sink {
 public:
  virtual void put(const char* text, size_t length) = 0;
  virtual ~Sink() = default;
};

class StringSink final : public Sink {
 public:
  void put(const char* text, size_t length) override { text_.append(text, length); }
  std::string text_;
};

class FileSink final : public Sink {
 public:
  explicit FileSink(int fd) : fd_(fd) {}
  void put(const char* text, size_t length) override {
    for (size_t i = 0; i < length; ++i) {
      if (used_ == sizeof buffer_) flush();
      buffer_[used_++] = text[i];
    }
  }
  void flush() {
    for (size_t done = 0; done < used_;) {
      const ssize_t n = write(fd_, buffer_ + done, used_ - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    used_ = 0;
  }

 private:
  int fd_;
  size_t used_ = 0;
  char buffer_[4096];
};

class Json {
 public:
  explicit Json(Sink& sink) : sink_(sink) {}
  Json& raw(const char* text) { return sink_.put(text, std::strlen(text)), *this; }
  Json& number(uint64_t value) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(value));
    return raw(digits);
  }
  Json& triple(const uint3& v) { return raw("[").number(v.x).raw(",").number(v.y).raw(",").number(v.z).raw("]"); }
  Json& boolean(bool value) { return raw(value ? "true" : "false"); }
  Json& text(const char* value) {
    raw("\"");
    for (; *value; ++value) character(static_cast<unsigned char>(*value));
    return raw("\"");
  }
  // module and offset of a return address, for addr2line; both null where there is none.
  Json& place(const char* module_key, const char* offset_key, Address pc) {
    Dl_info info{};
    const bool known = pc && dladdr(reinterpret_cast<void*>(pc), &info) && info.dli_fname;
    raw(",\"").raw(module_key).raw("\":");
    if (!known)
      raw("null");
    else
      text(info.dli_fname);
    raw(",\"").raw(offset_key).raw("\":");
    return known ? number(pc - address_of(info.dli_fbase)) : raw("null");
  }

 private:
  // Bytes beyond ASCII are escaped one by one: a name that was cut inside a UTF-8 sequence must still be valid JSON.
  void character(unsigned char c) {
    char escape[8];
    if (c == '"' || c == '\\')
      std::snprintf(escape, sizeof escape, "\\%c", c);
    else if (c < 0x20 || c >= 0x7F)
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
    else
      escape[0] = static_cast<char>(c), escape[1] = 0;
    raw(escape);
  }
  Sink& sink_;
};

void write_launch(Json& json, const LaunchRecord& r) {
  json.raw("{\"kernel\":").text(r.kernel).raw(",\"grid\":").triple(r.grid).raw(",\"block\":").triple(r.block);
  json.raw(",\"shared_bytes\":").number(r.shared_bytes).raw(",\"count\":").number(r.count).raw(",\"module\":");
  if (r.module)
    json.text(r.module).raw("}");
  else
    json.raw("null}");
}

void write_finding(Json& json, const Finding& f) {
  json.raw("{\"kind\":").text(f.kind).raw(",\"severity\":").text(f.error ? "error" : "warning");
  json.raw(",\"message\":").text(f.message).raw(",\"kernel\":");
  const bool device = f.kernel[0] != 0;
  if (device)
    json.text(f.kernel).raw(",\"block\":").triple(f.block).raw(",\"thread\":").triple(f.thread);
  else
    json.raw("null,\"block\":null,\"thread\":null");
  json.place("module", "offset", f.pc).place("other_module", "other_offset", f.other_pc).raw(",\"other_thread\":");
  if (f.has_other_thread)
    json.triple(f.other_thread);
  else
    json.raw("null");
  json.raw(",\"count\":").number(f.count).raw("}");
}

void write_report(Json& json) {
  json.raw("{\"launches\":[");
  for (size_t i = 0; i < launch_record_count(); ++i) write_launch(json.raw(i ? "," : ""), launch_record(i));
  json.raw("],\"findings\":[");
  for (size_t i = 0; i < finding_count(); ++i) write_finding(json.raw(i ? "," : ""), finding(i));
  json.raw("],\"unsupported\":");
  if (unsupported_feature[0])
    json.text(unsupported_feature);
  else
    json.raw("null");
  json.raw(",\"check_stopped\":").boolean(statistics.check_stopped);
  json.raw(",\"peak_bytes\":").number(peak_device_bytes()).raw(",\"threads\":").number(statistics.threads);
  json.raw(",\"resets\":").number(resets).raw(",\"watched_accesses\":").number(statistics.watched);
  json.raw(",\"kernel_bytes\":").number(statistics.kernel_bytes);
  json.raw(",\"host\":{\"foreign_taken\":").number(host_traffic.foreign_taken);
  json.raw(",\"own_taken\":").number(host_traffic.own_taken);
  json.raw(",\"own_before_launch\":").number(host_traffic.own_before_launch);
  json.raw(",\"given\":").number(host_traffic.given);
  json.raw(",\"returned\":").number(host_traffic.returned).raw("}");
  json.raw(",\"dropped_findings\":").number(dropped_findings()).raw("}");
}

}  // namespace

std::string report_as_text() {
  StringSink sink;
  Json json(sink);
  write_report(json);
  return sink.text_;
}

void report_and_leave(int code) {
  static std::atomic_flag leaving = ATOMIC_FLAG_INIT;
  if (leaving.test_and_set())
    for (;;) pause();
  const int fd = settings.report_fd >= 0 ? settings.report_fd : STDERR_FILENO;
  if (fd != STDERR_FILENO && (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)) _exit(code);
  FileSink sink(fd);
  Json json(sink);
  write_report(json);
  sink.flush();
  _exit(code);
}

void remember_unsupported(const char* feature) {
  std::snprintf(unsupported_feature, sizeof unsupported_feature, "%s", feature);
}

}  // namespace moore_sim
