// See issuer.h.
#include "issuer.h"

#include <utility>

namespace jitc::cuda {
namespace {
/// Release of a mutex that this thread holds, during a wait.
class Unlocked {
 public:
  explicit Unlocked(std::mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::mutex& mutex_;
};
}  // namespace

Issuer::Issuer(std::mutex& mutex, const RunState& state, ExecutionSink& sink,
               std::shared_ptr<Context> context, const Memory& memory, PinnedPool& pool,
               CompletionPoller& poller, Streams& streams)
    : mutex_(mutex),
      state_(state),
      sink_(sink),
      context_(std::move(context)),
      memory_(memory),
      pool_(pool),
      poller_(poller),
      streams_(streams) {}

uint64_t Issuer::require(const char* name, uint64_t address, uint64_t bytes) const {
  if (bytes == 0) return address;
  if (memory_.contains(address, bytes)) return memory_.real(address);
  refuse_address(name, address, bytes);
}

void Issuer::submitted(Stream& stream, const ops::OpHeader& op) const {
  if (!rebuilding_) streams_.given(stream, op);
}

void Issuer::submitted_with_result(Stream& stream, const ops::OpHeader& op, Pinned memory,
                                   size_t bytes) const {
  submitted(stream, op);
  poller_.after(stream.timeline(), {op.sequence, bytes, std::move(memory), {}});
}

void Issuer::completed_synchronously(const ops::OpHeader& op) const {
  if (!rebuilding_) streams_.note(op);
}

void Issuer::answer(const ops::OpHeader& op, std::span<const std::byte> payload) const {
  sink_.result(op.sequence, kSuccess, payload);
}

void Issuer::drain() {
  streams_.mark_all();
  bool rests = false;
  {
    const Unlocked unlocked(mutex_);
    rests = poller_.wait_all();
    also_();
  }
  if (!rests || !state_.running()) throw Abandoned{};
}

Pinned Issuer::staging(size_t bytes) {
  for (;;) {
    if (Pinned memory = pool_.take(bytes)) return memory;
    streams_.mark_all();
    {
      const Unlocked unlocked(mutex_);
      poller_.wait_some();
    }
    if (!state_.running()) throw Abandoned{};
  }
}

void Issuer::wait_begins() {
  streams_.mark_all();
  mutex_.unlock();
}

}  // namespace jitc::cuda
