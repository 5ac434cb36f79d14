// See collective_handlers.h.
#include "collective_handlers.h"

#include <optional>
#include <thread>

namespace jitc::cuda {
namespace {
constexpr std::chrono::microseconds kLook{100};

class At {
 public:
  At(std::atomic<uint64_t>& at, uint64_t sequence) : at_(at) { at_.store(sequence); }
  ~At() { at_.store(0); }
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  std::atomic<uint64_t>& at_;
};
}  // namespace

void CollectiveHandlers::create(const ops::CommunicatorCreate& op) {
  communicators_.create(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::split(const ops::CommunicatorSplit& op) {
  communicators_.split(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::destroy(const ops::CommunicatorDestroy& op) {
  communicators_.destroy(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::end(const ops::CommunicatorAbort& op) {
  communicators_.end(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::run(const ops::Collective& op) {
  Stream& stream = issuer_.stream_of(op.header);
  if (op.header.sequence == skipped_) return issuer_.submitted(stream, op.header);
  Capture* const capture = captures_.of(stream);
  if (capture) capture->add_collectives();
  const At at(at_, op.header.sequence);
  if (!capture && residency_.takes_turns()) return run_elsewhere(op, stream);
  communicators_.collective(op, stream.real());
  issuer_.submitted(stream, op.header);
}

/// Runs a collective while sessions take turns at the GPU: NCCL works on copies in host memory, and this
/// session leaves the GPU meanwhile. No other work is in flight then: none is queued behind a collective that
/// waits for a rank which needs the GPU.
void CollectiveHandlers::run_elsewhere(const ops::Collective& op, Stream& stream) {
  issuer_.drain();
  staging_.clear();
  std::optional<Residency::Outside> outside(std::in_place);
  const auto take = [&](const CollectiveCall& call) {
    come_back(*outside);
    auto items = staging_.take(call.operands(), stream.real());
    outside.emplace();
    const Waiting waiting(issuer_);
    outside->give_way();
    return items;
  };
  communicators_.collective(op, stream.real(), take);
  await(stream);
  come_back(*outside);
  staging_.give_back(stream.real());
  issuer_.submitted(stream, op.header);
}

void CollectiveHandlers::come_back(Residency::Outside& outside) {
  {
    const Waiting waiting(issuer_);
    outside.back();
  }
  if (!issuer_.running()) throw Abandoned{};
}

void CollectiveHandlers::await(const Stream& stream) {
  const Patience patience(hang_seconds_);
  for (;;) {
    const auto status = issuer_.driver().cuStreamQuery(stream.own());
    if (status == kSuccess) return;
    if (status != kNotReady) issuer_.check("a collective", status);
    if (patience.over()) refuse(kUnknown, "hung-collective", "a collective does not end in time");
    {
      const Waiting waiting(issuer_);
      std::this_thread::sleep_for(kLook);
    }
    if (!issuer_.running()) throw Abandoned{};
  }
}

bool CollectiveHandlers::fence(std::chrono::milliseconds limit) {
  skipped_ = 0;
  return communicators_.fence(limit);
}

}  // namespace jitc::cuda
