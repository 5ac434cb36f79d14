// See harness.h.
#include "harness.h"

#include <dlfcn.h>

#include <cstdlib>

#include "device/devices.h"

namespace jitc::test {
namespace {
bool is_cuda() {
  const char* const name = std::getenv("JITC_TEST_DEVICE");
  const std::string device = name ? name : "";
  if (device != "cuda" && device != "software") throw Failure{"JITC_TEST_DEVICE is cuda or software"};
  return device == "cuda";
}

CommunicatorSegments& segments_of(const Options& options) {
  if (options.segments) return *options.segments;
  static Segments none;
  return none;
}

std::unique_ptr<Backend> make_device(const Options& options, ExecutionSink& sink, std::string& error) {
  static NoImages no_images;
  CommunicatorSegments& segments = segments_of(options);
  BackendOptions wanted{};
  wanted.address_base = kBase + options.slot * kRange;
  wanted.address_bytes = kRange;
  wanted.memory_limit = options.limit ? options.limit : uint64_t{1} << 30;
  wanted.threads = 1;
  wanted.pinned = options.pinned;
  wanted.budget = options.budget;
  wanted.shuffle = shuffle_of_environment();
  if (!is_cuda()) return make_software_backend(wanted, sink, segments, no_images, error);
  wanted.libraries = Libraries({{"driver", JITC_TEST_DRIVER}, {"nccl", JITC_TEST_NCCL}});
  setenv("JITC_FAKE_CUDA", JITC_TEST_DRIVER, 1);  // where the fake NCCL finds the driver
  return make_cuda_backend(wanted, sink, segments, no_images, error);
}

/// The size of the copy that a gate of the software device holds up: no short one, which may run in the
/// thread that gives it.
constexpr uint64_t kHeld = 24 << 10;

void hold_copies(Session& session, Gate& gate) {
  session.sink.on_injection = [&gate](const ops::OpHeader& op, std::string_view) {
    if (op.op != static_cast<uint16_t>(ops::OpId::copy_d2d)) return;
    if (reinterpret_cast<const ops::CopyD2d&>(op).bytes == kHeld) gate.pass();
  };
  const uint64_t memory = session.allocate(2 * kHeld);
  session.copy(memory, memory + kHeld, kHeld);
}

void hold_driver(Gate& gate) {
  void* const library = dlopen(JITC_TEST_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  if (!library) throw Failure{"the fake driver is not loaded yet"};
  const auto launch =
      reinterpret_cast<int (*)(void*, void (*)(void*), void*)>(dlsym(library, "cuLaunchHostFunc"));
  CHECK_EQUAL(launch(nullptr, [](void* one) { static_cast<Gate*>(one)->pass(); }, &gate), 0);
}
}  // namespace

Session::Session(const Options& options) : OpClient(options.slot) {
  std::string error;
  backend = make_device(options, sink, error);
  if (!backend) throw Failure{error};
}

Options Rank::options(Segments& segments, int rank) {
  setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
  Options options;
  options.segments = &segments;
  return options;
}

StreamGate::StreamGate(Session& session) {
  if (is_cuda())
    hold_driver(gate_);
  else
    hold_copies(session, gate_);
}

}  // namespace jitc::test
