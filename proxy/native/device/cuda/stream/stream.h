// Real streams and events behind virtual handles. Both destroy what they own; neither is copied.
// Called by: Device, with its mutex held.
#pragma once
#include <cstdint>
#include <memory>

#include "completion_poller.h"
#include "device/cuda/driver/context.h"
#include "device/resources.h"

namespace jitc::cuda {

class Stream {
 public:
  /// Makes the legacy default stream.
  Stream(std::shared_ptr<Context> context, CompletionPoller& poller);
  /// Makes any other stream. Throws OpError.
  Stream(std::shared_ptr<Context> context, CompletionPoller& poller, const Resources::Stream& wanted);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Returns the stream for its ops: that of a capture while diverted there.
  abi::CUstream real() const { return into_ ? into_ : real_; }
  abi::CUstream own() const { return real_; }
  bool diverted() const { return into_ != nullptr; }
  void divert(abi::CUstream into) { into_ = into; }
  int32_t priority() const { return made_.priority; }
  const std::shared_ptr<StreamTimeline>& timeline() const { return timeline_; }
  bool blocking() const { return (made_.flags & abi::kStreamNonBlocking) == 0; }
  bool unmarked = false;  // has ops that are not marked: on the list of Streams
  bool same(const Resources::Stream& wanted) const {
    return made_.flags == wanted.flags && made_.priority == wanted.priority;
  }

 private:
  const std::shared_ptr<Context> context_;
  const Resources::Stream made_;
  abi::CUstream real_ = nullptr;  // null: the legacy default stream
  abi::CUstream into_ = nullptr;
  std::shared_ptr<StreamTimeline> timeline_;
};

class Event {
 public:
  /// Makes an event. Throws OpError.
  Event(std::shared_ptr<Context> context, uint64_t flags);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  abi::CUevent real() const { return real_; }
  uint64_t flags() const { return flags_; }
  bool timed() const { return (flags_ & abi::kEventDisableTiming) == 0; }

  // State of its latest record. recorded without a timeline: recorded before the restored state; stands_in:
  // and that event is lost, replaced by this one.
  bool recorded = false, stands_in = false;
  std::shared_ptr<StreamTimeline> timeline;
  uint64_t value = 0;

 private:
  const std::shared_ptr<Context> context_;
  const uint64_t flags_;
  abi::CUevent real_ = nullptr;
};

}  // namespace jitc::cuda
