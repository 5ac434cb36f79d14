// One rank's communicators on the stub library, with a device that is only an address range. Ranks are
// objects of one process.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client.h"
#include "device/cuda/collective/communicators.h"
#include "device/cuda/driver/error.h"
#include "stub_nccl.h"

namespace jitc::test {

using cuda::Communicators;
using cuda::Identity;
using ops::CollectiveItem;
using ops::CollectiveKind;

/// Waits until done() holds; throws when that takes far too long. For what nobody signals.
void await(const char* what, const std::function<bool()>& done);

/// Segments by unique id: memory files, made when first asked for. Unknown ids (first byte 0xff) are refused;
/// a recovery takes joins back (0xfe).
class Segments final : public CommunicatorSegments {
 public:
  ~Segments() override;
  CommunicatorSegment join(const std::array<uint8_t, 128>& id, uint32_t ranks, uint32_t rank) override;
  /// Says, as the service does, that the rank does nothing any more there.
  void absent(const std::array<uint8_t, 128>& id, uint32_t rank, const std::string& why);
  int asked() const { return asked_; }
  /// A new recovery epoch: fresh segments.
  void renew();

 private:
  std::mutex mutex_;
  std::atomic<int> asked_{0};
  std::map<std::array<uint8_t, 128>, int> files_;
};

std::array<uint8_t, 128> unique_id(uint8_t value);

class Rank final : public cuda::CommunicatorHost {
 public:
  explicit Rank(Segments& segments, double hang_seconds = 0, bool library = true);
  ~Rank() override;

  static constexpr uint64_t kBase = 0x10000, kBytes = 0x10000;  // the allocated range

  uint64_t create(uint64_t handle, uint8_t id, int ranks, int rank);
  uint64_t split(uint64_t parent, uint64_t handle, int color, int key);
  void destroy(uint64_t handle);
  /// Throws what Communicators throws.
  void collective(const std::vector<CollectiveItem>& items);
  Reply wait_result(uint64_t sequence) { return sink.wait_result(sequence); }
  bool fence() { return communicators->fence(std::chrono::seconds(30)); }
  void restore(const std::vector<Identity>& wanted);  // fence, restore, resume
  uint64_t sequence() const { return sequence_; }

  Sink sink;
  std::unique_ptr<Communicators> communicators;

  // CommunicatorHost
  void enter_context() override {}
  bool allocated(uint64_t address, uint64_t bytes, uint64_t) const override {
    return address >= kBase && bytes <= kBytes && address - kBase <= kBytes - bytes;
  }
  void wait_begins() override {}
  void wait_ends() override {}
  void communicator_fault(uint64_t sequence, uint32_t status, const char* cause,
                          const std::string& message) override;

 private:
  template <class Op>
  Op next(Op op) {
    op.header = {sizeof op, static_cast<uint16_t>(Op::kId), 0, 0, ++sequence_};
    return op;
  }
  uint64_t sequence_ = 0;
};

CollectiveItem item(uint64_t comm, CollectiveKind kind, uint32_t dtype = 7, uint64_t count = 4,
                    int32_t peer = -1);

/// What an action throws.
std::optional<cuda::OpError> refusal(const std::function<void()>& action);

}  // namespace jitc::test
