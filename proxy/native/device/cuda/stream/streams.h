// Streams of one session by virtual handle, and the ops of each: they are marked now and then, so that the
// poller can follow the GPU's progress.
//
// Lock rule: the device's mutex. All functions except pure queries may throw OpError. Called by: Issuer, the
// handlers of streams and graphs, Device.
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
  /// Returns the stream; nullptr: none has that handle, or it is a name of the default one.
  Stream* find(uint64_t handle) const;
  /// Returns the stream; throws if none has that handle, or it is a name of the default one.
  Stream& at(uint64_t handle) const;
  /// Returns the op's stream; throws if there is none.
  Stream& of(const ops::OpHeader& op) { return op.stream <= kLastDefaultStream ? legacy_ : at(op.stream); }
  /// Returns all, including destroyed ones with work to do.
  std::vector<Stream*> all();

  void create(const Resources::Stream& wanted);
  /// Removes the handle at once and the stream once its work is done.
  void destroy(uint64_t handle);
  /// Removes a borrowed stream without a trace.
  void erase(uint64_t handle) { streams_.erase(handle); }
  /// Frees destroyed streams whose work is done; everything: all of them.
  void reap(bool everything);
  /// Makes exactly these. Requires an idle device.
  void restore(const std::vector<Resources::Stream>& wanted);

  /// Notes that the op lies on the real stream, or on the capture that stands in for it.
  void given(Stream& stream, const ops::OpHeader& op);
  /// Passes the stream's progress over an op that needs nothing of its stream.
  void note(const ops::OpHeader& op);
  /// Ends an op with all its parts: marks it if each op has a mark (driver/diagnosis.h).
  void issued() {
    if (marks_every_op_) mark_all();
  }
  void mark_all();
  bool all_marked() const { return unmarked_.empty(); }
  bool all_idle();
  /// Returns the oldest op that may not have run, 0: none. The GPU does not say which one failed.
  uint64_t suspect() const;
  /// Drops all outstanding work without reporting it. Requires an idle device.
  void forget_all();

 private:
  using Pointer = std::unique_ptr<Stream>;

  const bool marks_every_op_ = asked_for(kMarkEveryOp);
  const std::shared_ptr<Context> context_;
  CompletionPoller& poller_;
  Stream legacy_;
  std::unordered_map<uint64_t, Pointer> streams_;  // without the legacy default stream
  std::vector<Pointer> zombies_;                   // destroyed, with work to do
  std::vector<Stream*> unmarked_;                  // with ops that are not marked
};

}  // namespace jitc::cuda
