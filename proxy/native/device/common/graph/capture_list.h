// Captures in progress on a device, and the ops that they give another meaning: the part common to both
// devices.
//
// Lock rule: the device's mutex. A refused op throws OpError. Called by: Captures of each device, which
// derives from it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "capture_status.h"
#include "jitc/generated_op_traits.h"

namespace jitc::device {

/// Captures of a device. Self has of(op), record(op, event) and wait(op, event) (true: the op is issued),
/// leave(stream) for a destroyed stream, and work(op) for all other ops.
template <class Self, class Capture>
class CaptureList {
 public:
  using List = std::vector<std::unique_ptr<Capture>>;

  bool empty() const { return captures_.empty(); }
  Capture* of_event(uint64_t event) const {
    return find([&](const Capture& one) { return one.has_event(event); });
  }
  /// Returns the capture that began on the stream; nullptr: it has ended.
  Capture* begun_on(uint64_t stream) const {
    return find([&](const Capture& one) { return one.origin() == stream; });
  }

  /// Removes and returns the capture that began on the op's stream, which has ended.
  std::unique_ptr<Capture> take(const ops::OpHeader& op) {
    const auto found = std::find_if(captures_.begin(), captures_.end(),
                                    [&](const auto& one) { return one->origin() == op.stream; });
    if (found == captures_.end()) throw never_begun();
    auto capture = std::move(*found);
    captures_.erase(found);
    return capture;
  }

  /// Handles ops that have another meaning while streams are captured; true: the op is issued.
  bool intercept(const ops::OpHeader& op) {
    Self& self = static_cast<Self&>(*this);
    bool issued = false;
    const ops::Overloaded take{
        [&](const ops::EventRecord& one) { issued = self.record(op, one.event); },
        [&](const ops::EventWait& one) { issued = self.wait(op, one.event); },
        [&](const ops::EventDestroy& one) {
          if (Capture* const capture = of_event(one.handle)) capture->forget_event(one.handle);
        },
        [&](const ops::StreamSynchronize&) {
          if (self.of(op)) throw uncapturable("synchronizing the stream");
        },
        [&](const ops::DeviceSynchronize&) {
          for (const auto& capture : captures_) capture->invalidate(uncapturable("synchronizing the device"));
          throw uncapturable("synchronizing the device");
        },
        [&](const ops::EventSynchronize& one) { refuse_captured(one.event); },
        [&](const ops::EventElapsed& one) { refuse_captured(one.start), refuse_captured(one.end); },
        [&](const ops::StreamDestroy& one) { self.leave(one.handle); },
        [&](const auto&) { issued = self.work(op); },
    };
    ops::visit(op, take);
    return issued;
  }

 protected:
  template <class Is>
  Capture* find(Is&& is) const {
    for (const auto& capture : captures_)
      if (is(*capture)) return capture.get();
    return nullptr;
  }
  /// Notes that the event was recorded in the capture, or outside of captures.
  void recorded(uint64_t event, const Capture* capture) const {
    Capture* const before = of_event(event);
    if (before && before != capture) before->forget_event(event);
  }
  /// Refuses a wait for an event of another capture than the stream's.
  static void refuse_merge(const Capture* capture, Capture& other) {
    if (!capture || capture == &other) return;
    other.invalidate(captures_merge());
    throw captures_merge();
  }

  List captures_;

 private:
  void refuse_captured(uint64_t event) const {
    Capture* const capture = of_event(event);
    if (!capture) return;
    capture->invalidate(captured_event());
    throw captured_event();
  }
};

}  // namespace jitc::device
