// Checks a launch as the device would, and spreads its blocks over host threads that stay for the next one.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "arena.h"
#include "check.h"
#include "findings.h"
#include "host_traffic.h"
#include "report.h"
#include "signals.h"
#include "worker.h"

namespace moore_sim {
namespace {

constexpr int CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_INVALID_CONFIGURATION = 9, CUDA_ERROR_LAUNCH_FAILURE = 719;
// Each waiting thread of a block needs a mapping of its own, of which a process may have 65,530.
constexpr int MAX_WORKERS = 12;
// Waking the pool costs about as much as running this many threads of a small kernel.
constexpr uint64_t ALONE_BELOW_THREADS = 4096;

std::mutex launch_mutex;

void run_blocks(Worker& worker, LaunchState& launch) {
  for (;;) {
    const uint64_t position = launch.next_position.fetch_add(1, std::memory_order_relaxed);
    if (position >= launch.blocks || launch.abandoned) return;
    run_block(worker, launch, position);
  }
}

class Pool {
 public:
  // Runs the launch on `helpers` threads of the pool and on the caller's.
  void run(LaunchState& launch, size_t helpers) {
    grow(helpers);
    {
      std::lock_guard lock(mutex_);
      launch_ = &launch, wanted_ = std::min(helpers, workers_.size()), busy_ = wanted_, ++round_;
    }
    if (wanted_) wake_.notify_all();
    run_blocks(own_, launch);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void grow(size_t helpers) try {
    while (workers_.size() < helpers) {
      workers_.push_back(std::make_unique<Worker>());
      std::thread(&Pool::serve, this, workers_.size() - 1, round_).detach();
    }
  } catch (const std::system_error&) {
    workers_.pop_back();  // no more threads to be had: fewer will do
  }

  void serve(size_t index, uint64_t seen) {
    give_signal_stack();
    Worker& worker = *workers_[index];
    for (std::unique_lock lock(mutex_);;) {
      wake_.wait(lock, [&] { return round_ != seen; });
      seen = round_;
      if (index >= wanted_) continue;
      LaunchState& launch = *launch_;
      lock.unlock();
      run_blocks(worker, launch);
      lock.lock();
      if (--busy_ == 0) idle_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Worker own_;
  LaunchState* launch_ = nullptr;
  size_t wanted_ = 0, busy_ = 0;
  uint64_t round_ = 0;
};

// Threads do not survive a fork; a child gets a pool of its own. Never destroyed: its threads may outlive main().
Pool& pool() {
  static Pool* current_pool = nullptr;
  static pid_t owner = 0;
  if (owner != getpid()) current_pool = new Pool, owner = getpid();
  return *current_pool;
}

// The CUDA error of an impossible launch, 0 for a possible one; `why` says what is wrong.
int launch_fault(const dim3& grid, const dim3& block, size_t shared_bytes, char* why, size_t room) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (!threads || !grid.x || !grid.y || !grid.z)
    return std::snprintf(why, room, "a dimension is zero"), CUDA_ERROR_INVALID_CONFIGURATION;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > MAX_THREADS)
    return std::snprintf(why, room, "a block can have 1024 threads, 1024 x 1024 x 64 at most"),
           CUDA_ERROR_INVALID_CONFIGURATION;
  if (grid.x > 0x7FFFFFFFu || grid.y > 65535 || grid.z > 65535)
    return std::snprintf(why, room, "a grid can have 2147483647 x 65535 x 65535 blocks"),
           CUDA_ERROR_INVALID_CONFIGURATION;
  if (shared_bytes > shared_memory_limit())
    return std::snprintf(why, room, "%zu bytes of dynamic shared memory; %zu are allowed%s", shared_bytes,
                         shared_memory_limit(),
                         shared_bytes <= SHARED_OPT_IN_LIMIT ? " without cudaFuncSetAttribute" : ""),
           CUDA_ERROR_INVALID_VALUE;
  return 0;
}

std::vector<uint3> thread_coordinates(const dim3& block) {
  std::vector<uint3> all;
  all.reserve(size_t{block.x} * block.y * block.z);
  for (unsigned z = 0; z < block.z; ++z)
    for (unsigned y = 0; y < block.y; ++y)
      for (unsigned x = 0; x < block.x; ++x) all.push_back({x, y, z});
  return all;
}

// Where this host thread's stack ends. Asked once: for the main thread, the C library reads /proc to answer.
Address host_stack_end() {
  static __thread Address end __attribute__((tls_model("initial-exec"))) = 0;
  pthread_attr_t attributes;
  if (end || pthread_getattr_np(pthread_self(), &attributes) != 0) return end;
  void* low = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return end = address_of(low) + size;
}

// From here upwards: the frames of the launching code.
void note_host_stack(LaunchState& launch) {
  launch.host_stack_low = address_of(__builtin_frame_address(0));
  launch.host_stack_high = host_stack_end();
}

size_t helpers_for(const LaunchState& launch) {
  const uint64_t total = launch.blocks * static_cast<uint64_t>(launch.threads);
  if (settings.check || total < ALONE_BELOW_THREADS) return 0;
  const int asked = settings.threads > 0 ? settings.threads : static_cast<int>(std::thread::hardware_concurrency());
  const int workers = std::clamp(asked, 1, MAX_WORKERS);
  return std::min<size_t>(static_cast<size_t>(workers) - 1,
                          static_cast<size_t>(std::min<uint64_t>(launch.blocks - 1, 1024)));
}

void run(LaunchState& launch) {
  const OpenForKernels open;
  give_signal_stack();
  if (settings.check) {
    note_host_stack(launch);
    check::begin_launch(launch);
  }
  pool().run(launch, helpers_for(launch));
  if (settings.check) check::end_launch();
  if (launch.abandoned) set_error(CUDA_ERROR_LAUNCH_FAILURE);
  statistics.threads += launch.blocks * static_cast<uint64_t>(launch.threads);
}

}  // namespace

void launch(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes, void*, void (*body)(void*), void* closure,
            size_t closure_bytes, Arguments arguments) {
  if (in_kernel()) unsupported("dynamic parallelism");
  char why[160];
  if (const int error = launch_fault(grid, block, shared_bytes, why, sizeof why)) {
    set_error(error);
    add_finding({.kind = "launch_error", .pc = address_of(__builtin_return_address(0))},
                "the launch of %s with grid (%u, %u, %u) and block (%u, %u, %u) is refused: %s", kernel.name, grid.x,
                grid.y, grid.z, block.x, block.y, block.z, why);
    return;
  }
  static uint64_t launches = 0;
  std::lock_guard lock(launch_mutex);
  log_launch(kernel.name, grid, block, shared_bytes, address_of(reinterpret_cast<void*>(body)));
  note_launch_for_traffic();
  if (settings.hold) return;
  LaunchState state{};
  state.kernel = kernel.name, state.parameters = kernel.parameters, state.arguments = arguments;
  state.grid = grid, state.block = block, state.dynamic_bytes = shared_bytes;
  state.body = body, state.closure = closure, state.closure_bytes = closure_bytes;
  state.threads = static_cast<int>(block.x * block.y * block.z);
  state.blocks = uint64_t{grid.x} * grid.y * grid.z;
  state.number = ++launches;
  state.coordinates = thread_coordinates(block);
  run(state);
}

}  // namespace moore_sim
