// The streams of one session by virtual handle, and what each was given: ops on a stream are marked now and
// then, so that the poller finds out how far the GPU has got.
//
// Lock rule: the device's mutex. All but what only looks may throw OpError. Called by: Issuer, the handlers
// of streams and graphs, Device.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/operands.h"
#include "completion_poller.h"
#include "device/cuda/driver/diagnosis.h"
#include "stream.h"

namespace jitc::cuda {

class Streams {
 public:
  Streams(std::shared_ptr<Context> context, CompletionPoller& poller)
      : context_(std::move(context)), poller_(poller), legacy_(context_, poller_) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Stream& legacy() { return legacy_; }
  /// nullptr: there is none of that handle, or it is a name of the default one.
  Stream* find(uint64_t handle) const;
  /// Throws when there is none, or it is a name of the default one.
  Stream& at(uint64_t handle) const;
  /// That of the op; throws when there is none.
  Stream& of(const ops::OpHeader& op) { return op.stream <= kLastDefaultStream ? legacy_ : at(op.stream); }
  /// With those that were destroyed and have work to do.
  std::vector<Stream*> all();

  void create(const Resources::Stream& wanted);
  /// Out of reach at once, gone once its work is done.
  void destroy(uint64_t handle);
  /// One that was only lent: goes without a trace.
  void erase(uint64_t handle) { streams_.erase(handle); }
  /// Destroyed streams go whose work is done; everything: all of them.
  void reap(bool everything);
  /// Exactly these. At rest only.
  void restore(const std::vector<Resources::Stream>& wanted);

  /// The op lies on the real stream, or on the capture that stands in for it.
  void given(Stream& stream, const ops::OpHeader& op);
  /// The op needs nothing of its stream, but the stream's progress must still pass it.
  void note(const ops::OpHeader& op);
  /// An op is, with all that belongs to it: time for a mark where each is to have one (driver/diagnosis.h).
  void issued() {
    if (marks_every_op_) mark_all();
  }
  void mark_all();
  bool all_marked() const { return unmarked_.empty(); }
  bool all_idle();
  /// The oldest op that may not have run, 0: none. The GPU does not say which one failed.
  uint64_t suspect() const;
  /// The device is at rest, and nobody is told of what was given before.
  void forget_all();

 private:
  using Pointer = std::unique_ptr<Stream>;

  const bool marks_every_op_ = asked_for(kMarkEveryOp);
  const std::shared_ptr<Context> context_;
  CompletionPoller& poller_;
  Stream legacy_;
  std::unordered_map<uint64_t, Pointer> streams_;  // without the legacy default stream
  std::vector<Pointer> zombies_;                   // destroyed, their work is not done yet
  std::vector<Stream*> unmarked_;                  // with ops that are not marked
};

}  // namespace jitc::cuda
