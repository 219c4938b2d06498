// The contract between the CUDA headers (this folder), the rewriter (rewrite/) and the run time (../runtime/).
//
// Headers call these functions, the run time implements them in libmoore_sim.so, Python steers it over the C interface
// at the end. Nothing here includes torch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#define MOORE_SIM_API __attribute__((visibility("default")))

struct uint3 { unsigned int x, y, z; };
struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace moore_sim {

// ------------------------------------------------------------------------------------------------ who is running
// Coordinates of the simulated thread that runs now. Valid inside a launch only.
struct Coordinates { uint3 thread, block; dim3 block_dim, grid_dim; };
extern MOORE_SIM_API __thread Coordinates current __attribute__((tls_model("initial-exec")));
// The headers read the four members as plain constants (threadIdx, ...), so that a local variable may be called blockDim.
// C++ cannot name a part of a thread-local variable: the assembler does. Place this once, in the file that defines
// `current` (which needs `= {}`), at namespace scope.
#define MOORE_SIM_NAME_COORDINATE(name, offset)                                                              \
  __asm__(".globl " name "\n.type " name ", %tls_object\n.size " name ", 12\n.set " name                     \
          ", _ZN9moore_sim7currentE+" offset "\n");
#define MOORE_SIM_NAME_COORDINATES                                                                           \
  MOORE_SIM_NAME_COORDINATE("moore_sim_thread_idx", "0") MOORE_SIM_NAME_COORDINATE("moore_sim_block_idx", "12") \
  MOORE_SIM_NAME_COORDINATE("moore_sim_block_dim", "24") MOORE_SIM_NAME_COORDINATE("moore_sim_grid_dim", "36")
MOORE_SIM_API int lane_id();                 // linear thread index modulo 32
MOORE_SIM_API unsigned active_mask();        // lanes of this warp that have not exited
MOORE_SIM_API bool in_kernel();              // false in host code

// ------------------------------------------------------------------------------------------------ launches
// What is launched: its name as written, and the names of its parameters, separated by commas, where they are known.
struct Kernel {
  const char *name, *parameters;
  Kernel(const char* name_, const char* parameters_ = "") : name(name_), parameters(parameters_) {}
};
// One of the copied arguments; for messages, which name the parameter that an address belongs to.
struct Argument { const void* address; size_t bytes; };
struct Arguments { const Argument* first; size_t count; };
// `closure` is `closure_bytes` of host memory that the kernel's threads may read: the copied arguments and the call.
MOORE_SIM_API void launch(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes, void* stream,
                          void (*body)(void*), void* closure, size_t closure_bytes, Arguments arguments);

// The rewriter turns  k<T><<<grid, block, shared, stream>>>(a, b)  into
//   ([=](auto&... moore_args) { k<T>(moore_args...); } % ::moore_sim::Launch(KERNEL, grid, block, shared, stream))(a, b)
// where KERNEL is "k<T>", or ::moore_sim::Kernel("k<T>", "x,y") where it has seen the kernel's parameters.
// Arguments are copied once, as a launch does, and the copies are what every thread sees. The lambda captures by value,
// so that what it needs (a pointer to the kernel, say) lies in the closure and not on the host's stack.
template <class F> struct BoundLaunch;
struct Launch {
  Kernel kernel; dim3 grid, block; size_t shared_bytes; void* stream;
  template <class S = std::nullptr_t>
  Launch(Kernel kernel_, dim3 grid_, dim3 block_, size_t shared_ = 0, S stream_ = nullptr)
      : kernel(kernel_), grid(grid_), block(block_), shared_bytes(shared_), stream(nullptr) {
    if constexpr (std::is_convertible_v<S, void*>) stream = static_cast<void*>(stream_);
  }
  template <class F> BoundLaunch<F> operator%(F call) const { return {*this, call}; }
};
template <class F> struct BoundLaunch {
  Launch where; F call;
  template <class... A> void operator()(A&&... args) const {
    struct Closure { std::tuple<std::decay_t<A>...> copies; F call; };
    Closure closure{std::tuple<std::decay_t<A>...>(std::forward<A>(args)...), call};
    auto body = [](void* raw) { auto& c = *static_cast<Closure*>(raw); std::apply(c.call, c.copies); };
    std::apply([&](const auto&... copies) {
      const Argument arguments[] = {{&copies, sizeof copies}..., {nullptr, 0}};
      launch(where.kernel, where.grid, where.block, where.shared_bytes, where.stream, body, &closure, sizeof(Closure),
             {arguments, sizeof...(A)});
    }, closure.copies);
  }
};
// The order of the rewriter: the kernel comes first, as in the source, so that nothing has to move.
template <class F> BoundLaunch<F> operator%(F call, const Launch& where) { return {where, call}; }

// ------------------------------------------------------------------------------------------------ barriers and warps
MOORE_SIM_API void barrier();                           // __syncthreads
enum class Vote : int { COUNT, AND, OR };
MOORE_SIM_API int barrier_vote(Vote vote, int predicate);

enum class WarpOp : int { SYNC, SHUFFLE, BALLOT, ADD, MIN_SIGNED, MAX_SIGNED, MIN_UNSIGNED, MAX_UNSIGNED, AND, OR, XOR, MATCH_ANY, MATCH_ALL };
struct Exchange { uint64_t word[2]; };
// Every lane of `mask` that is alive meets here. SHUFFLE returns the value of lane `source` (0..31); the others reduce word[0].
MOORE_SIM_API Exchange warp_op(WarpOp op, unsigned mask, int source, Exchange value);

// ------------------------------------------------------------------------------------------------ shared memory
// The rewriter turns  __shared__ float a[32], b;  into
//   struct moore_shared_1 { float a[32]; }; auto& a = ::moore_sim::shared<moore_shared_1>("a").a;   (one struct a variable)
// and                 extern __shared__ float s[];   into   float* const s = (float*)::moore_sim::dynamic_shared();
MOORE_SIM_API void* dynamic_shared();
// One object per block and call site; filled with 0xFF, red zone behind it. `site` identifies the call site; `name` is
// for messages, null where it is not known.
MOORE_SIM_API void* static_shared(const void* site, size_t bytes, size_t alignment, const char* name);
template <class S> inline S& shared(const char* name = nullptr) {
  static const char site = 0;
  return *static_cast<S*>(static_shared(&site, sizeof(S), alignof(S), name));
}
// File scope:  extern __shared__ T name[];
template <class T> struct DynamicShared {
  operator T*() const { return static_cast<T*>(dynamic_shared()); }
};

// ------------------------------------------------------------------------------------------------ memory
// Checked for bounds, alignment and races in check mode; call before an atomic read-modify-write of n bytes.
MOORE_SIM_API void atomic_access(const void* pointer, unsigned bytes);
MOORE_SIM_API void fence();                             // __threadfence*
MOORE_SIM_API void* device_malloc(size_t bytes);        // ends at a guard page, filled with 0xFF; nullptr when memory is out
MOORE_SIM_API bool device_free(void* pointer);          // false (and a finding) when it is no live allocation
// Device memory is inaccessible to host code except between these two (they nest, per process). Used by launches,
// run-time copies and the emulated device around PyTorch operators.
MOORE_SIM_API void open_device_memory();
MOORE_SIM_API void close_device_memory();
struct DeviceMemoryOpen {
  DeviceMemoryOpen() { open_device_memory(); }
  ~DeviceMemoryOpen() { close_device_memory(); }
  DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
};
MOORE_SIM_API bool is_device_pointer(const void* pointer);        // inside a live device allocation
// Size of the live allocation from `pointer` to its end; 0 when it is none.
MOORE_SIM_API size_t device_bytes_from(const void* pointer);
// A copy brought `bytes` from the device to `host`, or the other way: see runtime/host_traffic.h.
MOORE_SIM_API void note_taken(const void* from, const void* host, size_t bytes);
MOORE_SIM_API void note_given(const void* host, size_t bytes);

// ------------------------------------------------------------------------------------------------ special functions
MOORE_SIM_API double bessel_i(double order, double x);  // modified, of the first kind; order 0 or 1

// ------------------------------------------------------------------------------------------------ findings and errors
MOORE_SIM_API void report(const char* kind, const char* message);   // kind: a value of verdict.FindingKind
// __trap, assert: report, flush, leave the process. `caller`: a return address, where it is not that of this call.
[[noreturn]] MOORE_SIM_API void trap(const char* message, const void* caller = nullptr);
[[noreturn]] MOORE_SIM_API void unsupported(const char* feature);   // a feature met only at run time: report, flush, leave
MOORE_SIM_API int last_error(bool clear);                           // cudaError_t of the last failed launch or call
MOORE_SIM_API void set_error(int error);
MOORE_SIM_API void set_max_dynamic_shared(size_t bytes);            // cudaFuncSetAttribute
MOORE_SIM_API size_t shared_memory_limit();                         // largest that may be set

}  // namespace moore_sim

// -------------------------------------------------------------------------------------------------- C interface
// Called by the run child through ctypes.
extern "C" {
enum moore_sim_order { MOORE_SIM_FORWARD = 0, MOORE_SIM_REVERSE = 1, MOORE_SIM_RANDOM = 2 };
// `threads`: host threads for blocks, 0 = all cores (check mode uses one). `check`: watch every access.
// `check_budget`: watched accesses after which a launch goes on unwatched (0 = no limit); the report says so.
MOORE_SIM_API void moore_sim_configure(int order, uint64_t seed, int threads, int check, uint64_t check_budget);
// On a fatal signal, trap or unsupported feature the report is written to `report_fd` (from its start) before _exit:
// 77 bad access, 78 trap, 79 unsupported, 80 a kernel still running when SIGALRM says that the time is over. Without this call the report goes to standard error; the signal handlers are
// in place from the first device allocation on, because memory is opened by the fault of its first access. So a system
// call that is given a device pointer while memory is open may fail with EFAULT: copy first.
MOORE_SIM_API void moore_sim_hold_launches(int hold);                // from now on no kernel runs
MOORE_SIM_API void moore_sim_install(int report_fd);
MOORE_SIM_API void moore_sim_limit_memory(uint64_t bytes);          // device_malloc beyond it fails
// JSON, valid until the next call:
// {"launches":[{"kernel":"k","grid":[1,1,1],"block":[1,1,1],"shared_bytes":0,"count":1}],
//  "findings":[{"kind":"race","severity":"error","message":"...","kernel":"k","block":[0,0,0],"thread":[1,0,0],
//               "module":"/path/x.so","offset":4096,"other_module":null,"other_offset":null,"other_thread":null,"count":3}],
//  "unsupported":null, "check_stopped":false, "peak_bytes":0, "threads":0, "watched_accesses":0, "dropped_findings":0}
// kernel, block and thread are null for host code. Findings of a faulting instruction store its address plus one, so that
// offset - 1 is always what addr2line wants.
// module/offset: the return address of the access in its shared object, for addr2line; null where there is none.
MOORE_SIM_API const char* moore_sim_report(void);
MOORE_SIM_API void moore_sim_reset(void);                           // forget launches, findings and the last error
}
