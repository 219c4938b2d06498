// One device; work is finished before the call that asked for it returns, so streams are names and events are clocks.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "hooks.h"
#include "memory.h"

namespace moore_device {
namespace {

using Clock = std::chrono::steady_clock;
struct Event {
  Clock::time_point recorded;
};

constexpr c10::StreamId kDefaultStream = 0;
constexpr c10::StreamId kPoolStreams = 32;
thread_local c10::StreamId current_stream = kDefaultStream;

c10::Stream stream_of(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, kDevice, id); }

c10::Stream next_pool_stream() {
  static std::atomic<c10::StreamId> handed_out{0};
  return stream_of(1 + handed_out++ % kPoolStreams);
}

void check_index(c10::Device device) {
  TORCH_CHECK(device.is_cuda() && device.index() <= 0, "CUDA error: invalid device ordinal (the simulated device is cuda:0)");
}

class DeviceGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Device getDevice() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device device) const override { check_index(device); return kDevice; }
  void setDevice(c10::Device device) const override { check_index(device); }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  c10::Stream getStream(c10::Device) const override { return stream_of(current_stream); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(kDefaultStream); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return next_pool_stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return next_pool_stream(); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_of(std::exchange(current_stream, stream.id()));
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return reinterpret_cast<void*>(stream.id()); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event;
    static_cast<Event*>(*event)->recorded = Clock::now();
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  // Milliseconds of this machine, which say nothing about a GPU; never zero, because people divide by it.
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    TORCH_CHECK(from && to, "Both events must be recorded before calculating elapsed time.");
    const auto passed = static_cast<Event*>(to)->recorded - static_cast<Event*>(from)->recorded;
    return std::max(1e-3, std::chrono::duration<double, std::milli>(passed).count());
  }
};

}  // namespace

void install_device_guard() {
  static auto* guard = new DeviceGuard;
  c10::impl::DeviceGuardImplRegistrar registrar(c10::kCUDA, guard);
}

}  // namespace moore_device
