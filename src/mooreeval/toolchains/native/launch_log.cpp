// Counts the kernels that a candidate's module launches. Its calls of the CUDA runtime are redirected here by the
// linker (`--wrap`), and go on to the real ones, unless launches are held: then they succeed and nothing runs. Needs no
// header of CUDA's: the types below are those of its C interface.
#include <cxxabi.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace {

struct Extent { unsigned x, y, z; };

// The part of cudaLaunchConfig_t that is read.
struct LaunchConfig {
  Extent grid, block;
  size_t shared_bytes;
};

using Launch = std::tuple<std::string, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, size_t>;

constexpr size_t kMostKinds = 1000;

// Never destroyed: a module may launch while the process ends.
std::mutex& lock = *new std::mutex;
std::map<const void*, std::string>& names = *new std::map<const void*, std::string>;
std::map<Launch, uint64_t>& launches = *new std::map<Launch, uint64_t>;
std::string& text = *new std::string;
std::atomic<bool> held{false};

std::string readable(const char* mangled) {
  int status = 0;
  char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 && plain ? plain : mangled;
  std::free(plain);
  if (name.rfind("void ", 0) == 0) name.erase(0, 5);
  int depth = 0;  // the parameters begin at the first parenthesis outside template arguments
  for (size_t k = 0; k < name.size(); ++k) {
    if (name[k] == '<') ++depth;
    if (name[k] == '>') --depth;
    const bool anonymous = name.compare(k, 21, "(anonymous namespace)") == 0;
    if (name[k] == '(' && depth == 0 && !anonymous) return name.substr(0, k);
  }
  return name;
}

void count(const void* kernel, Extent grid, Extent block, size_t shared_bytes) {
  const std::lock_guard<std::mutex> guard(lock);
  const auto known = names.find(kernel);
  const std::string name = known == names.end() ? "unknown kernel" : known->second;
  const Launch launch{name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes};
  if (launches.size() < kMostKinds || launches.count(launch)) ++launches[launch];
}

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name.substr(0, 500)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out + "\"";
}

}  // namespace

extern "C" {

void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
int __cudaGetKernel(void**, const void*);
int __cudaLaunchKernel(void*, Extent, Extent, void**, size_t, void*);
int cudaLaunchKernel(const void*, Extent, Extent, void**, size_t, void*);
int cudaLaunchCooperativeKernel(const void*, Extent, Extent, void**, size_t, void*);
int cudaLaunchKernelExC(const LaunchConfig*, const void*, void**);

void __wrap___cudaRegisterFunction(void** module, const char* host, char* device, const char* name, int limit,
                                   void* a, void* b, void* c, void* d, int* e) {
  {
    const std::lock_guard<std::mutex> guard(lock);
    names[host] = readable(name);
  }
  __cudaRegisterFunction(module, host, device, name, limit, a, b, c, d, e);
}

int __wrap___cudaGetKernel(void** kernel, const void* host) {
  const int code = __cudaGetKernel(kernel, host);
  const std::lock_guard<std::mutex> guard(lock);
  const auto known = names.find(host);
  if (code == 0 && known != names.end()) names[*kernel] = known->second;
  return code;
}

int __wrap___cudaLaunchKernel(void* kernel, Extent grid, Extent block, void** args, size_t shared, void* stream) {
  count(kernel, grid, block, shared);
  return held ? 0 : __cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

int __wrap_cudaLaunchKernel(const void* host, Extent grid, Extent block, void** args, size_t shared, void* stream) {
  count(host, grid, block, shared);
  return held ? 0 : cudaLaunchKernel(host, grid, block, args, shared, stream);
}

int __wrap_cudaLaunchCooperativeKernel(const void* host, Extent grid, Extent block, void** args, size_t shared,
                                       void* stream) {
  count(host, grid, block, shared);
  return held ? 0 : cudaLaunchCooperativeKernel(host, grid, block, args, shared, stream);
}

int __wrap_cudaLaunchKernelExC(const LaunchConfig* config, const void* host, void** args) {
  if (config) count(host, config->grid, config->block, config->shared_bytes);
  return held ? 0 : cudaLaunchKernelExC(config, host, args);
}

void moore_launches_hold(int hold) { held = hold != 0; }

void moore_launches_reset() {
  const std::lock_guard<std::mutex> guard(lock);
  launches.clear();
}

// JSON: a list of {kernel, grid, block, shared_bytes, count}; valid until the next call.
const char* moore_launches_report() {
  const std::lock_guard<std::mutex> guard(lock);
  text = "[";
  for (const auto& [launch, times] : launches) {
    const auto& [name, gx, gy, gz, bx, by, bz, shared] = launch;
    char numbers[320];
    std::snprintf(numbers, sizeof numbers,
                  ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared_bytes\": %zu, \"count\": %llu}", gx, gy,
                  gz, bx, by, bz, shared, static_cast<unsigned long long>(times));
    text += (text.size() > 1 ? ", " : "") + std::string("{\"kernel\": ") + quoted(name) + numbers;
  }
  text += "]";
  return text.c_str();
}

}  // extern "C"
