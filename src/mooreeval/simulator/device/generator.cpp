#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include "memory.h"

namespace moore_device {
namespace {

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(at::Generator host)
      : c10::GeneratorImpl(kDevice, c10::DispatchKeySet(c10::DispatchKey::CUDA)), host_(std::move(host)) {}
  const at::Generator& host() const { return host_; }

  void set_current_seed(uint64_t seed) override { host_.set_current_seed(seed); }
  // Offsets belong to counter-based generators; the position of this one is part of its state.
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  uint64_t current_seed() const override { return host_.current_seed(); }
  uint64_t seed() override { return host_.seed(); }
  void set_state(const c10::TensorImpl& state) override { host_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  DeviceGenerator* clone_impl() const override { return new DeviceGenerator(host_.clone()); }
  mutable at::Generator host_;
};

}  // namespace

at::Generator new_generator() { return at::make_generator<DeviceGenerator>(at::detail::createCPUGenerator()); }

const at::Generator& default_generator() {
  static const auto generator = at::make_generator<DeviceGenerator>(at::detail::getDefaultCPUGenerator());
  return generator;
}

at::Generator host_generator_of(const at::Generator& generator) {
  auto* device = dynamic_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl());
  return device != nullptr ? device->host() : generator;
}

}  // namespace moore_device
