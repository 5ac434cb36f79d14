// A session with a module of the fake driver's kernels (tests/fakes/README.md).
#pragma once
#include <cstring>

#include "harness.h"
#include "images.h"

namespace jitc::test {

/// Values one after the other, as a kernel's parameter buffer.
template <class... Values>
std::vector<std::byte> packed_values(Values... values) {
  std::vector<std::byte> bytes;
  const auto add = [&](const auto& value) {
    const size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  (add(values), ...);
  return bytes;
}

struct Launch {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, shared = 0;
  std::vector<ops::LaunchAttribute> attributes{};
};

class KernelSession : public Session {
 public:
  static constexpr uint64_t kModule = 0x3001, kAdd = 0x4001, kStream = kCaptured, kSide = kForked;
  using Bytes = std::vector<std::byte>;

  using Session::Session;
  /// The usual: streams, a module, the kernel add_i64(p, v, n).
  void begin();
  Reply load(uint64_t module, const std::string& image);
  Reply function(uint64_t module, uint64_t handle, const std::string& name);
  Reply variable(uint64_t module, const std::string& name);
  uint64_t launch(uint64_t function, const Bytes& parameters, uint64_t stream = 0, const Launch& shape = {});
  uint64_t add(uint64_t address, int64_t value, uint64_t count, uint64_t stream = 0) {
    return launch(kAdd, packed_values(address, value, count), stream);
  }
  int64_t number(uint64_t address) { return download<int64_t>(address, 1)[0]; }

 private:
  template <class Op>
  uint64_t send(Op op, uint64_t stream, const Bytes& payload) {
    return give(op, stream, payload.data(), payload.size());
  }
};

/// Adds the image "all", with every kernel and a variable "counter".
ImageHash all_kernels();
ImageHash named(const std::string& name);
/// The dispatcher loads that image, which waits for all work where JITC_FAKE_WAITS is set.
void fence_while_a_module_is_loaded(Session& session);

}  // namespace jitc::test
