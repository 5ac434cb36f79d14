// Test toolkit: one rank's communicators on the stub library, with a sink that remembers and a device that is
// only an address range. Ranks are objects of one process.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/communicators.h"
#include "cuda/error.h"
#include "stub_nccl.h"

namespace jitc::test {

using cuda::Communicators;
using cuda::Identity;
using ops::CollectiveItem;
using ops::CollectiveKind;

struct Failure {
  std::string message;
};

#define CHECK(condition)                                                                                   \
  do {                                                                                                     \
    if (!(condition))                                                                                      \
      throw ::jitc::test::Failure{std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition}; \
  } while (false)
#define CHECK_EQUAL(a, b)                                                                        \
  do {                                                                                           \
    const auto left = (a);                                                                       \
    const auto right = (b);                                                                      \
    if (!(left == right)) {                                                                      \
      std::ostringstream text;                                                                   \
      text << __FILE__ ":" << __LINE__ << ": " #a " == " #b ":\n" << left << "\nand\n" << right; \
      throw ::jitc::test::Failure{text.str()};                                                   \
    }                                                                                            \
  } while (false)

/// Waits until done() holds; throws when that takes far too long. For what nobody signals.
void await(const char* what, const std::function<bool()>& done);

/// Segments by unique id: memory files, made when first asked for. Unknown ids (first byte 0xff) are refused.
class Segments final : public Rendezvous {
 public:
  ~Segments() override;
  std::string join(const std::array<uint8_t, 128>& id, uint32_t ranks, uint32_t rank, uint64_t& bytes,
                   std::string& error) override;
  /// A new recovery epoch: fresh segments.
  void renew();

 private:
  std::mutex mutex_;
  std::map<std::array<uint8_t, 128>, int> files_;
};

std::array<uint8_t, 128> unique_id(uint8_t value);

struct Reply {
  uint32_t status;
  std::string payload;
};
struct Fault {
  uint64_t sequence;
  uint32_t status;
  std::string cause, message;
};

class Rank final : public ExecutionSink, public cuda::CommunicatorHost {
 public:
  explicit Rank(Segments& segments, double hang_seconds = 0, bool library = true);
  ~Rank() override;

  static constexpr uint64_t kBase = 0x10000, kBytes = 0x10000;  // the allocated range

  uint64_t create(uint64_t handle, uint8_t id, int ranks, int rank);
  uint64_t split(uint64_t parent, uint64_t handle, int color, int key);
  void destroy(uint64_t handle);
  /// Throws what Communicators throws.
  void collective(const std::vector<CollectiveItem>& items);
  Reply wait_result(uint64_t sequence);
  bool has_result(uint64_t sequence);
  Fault wait_fault();
  bool fence() { return communicators->fence(std::chrono::seconds(30)); }
  void restore(const std::vector<Identity>& wanted);  // fence, restore, resume
  uint64_t sequence() const { return sequence_; }

  std::unique_ptr<Communicators> communicators;
  std::function<void()> on_injection;

  // ExecutionSink
  void result(uint64_t sequence, uint32_t status, std::span<const std::byte> payload) override;
  void progress(uint64_t, uint64_t) override {}
  void fault(uint64_t, uint32_t, std::string_view, std::string_view) override {}
  bool delivered(uint64_t) const override { return false; }
  void injection_point(const ops::OpHeader&, std::string_view) override {
    if (on_injection) on_injection();
  }
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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Reply> results_;
  std::optional<Fault> fault_;
  uint64_t sequence_ = 0;
};

CollectiveItem item(uint64_t comm, CollectiveKind kind, uint32_t dtype = 7, uint64_t count = 4,
                    int32_t peer = -1);

/// What an action throws.
std::optional<cuda::OpError> refusal(const std::function<void()>& action);

struct Case {
  Case(const char* name, std::function<void()> run);
};
#define CASE(name)                                          \
  static void name();                                       \
  static const ::jitc::test::Case case_##name(#name, name); \
  static void name()

}  // namespace jitc::test
