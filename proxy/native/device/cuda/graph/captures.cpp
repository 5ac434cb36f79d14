// See captures.h.
#include "captures.h"

#include <algorithm>

#include "base/operands.h"

namespace jitc::cuda {

Capture* Captures::of(const Stream& stream) const {
  if (!stream.diverted()) return nullptr;
  for (const auto& capture : captures_)
    if (capture->has(stream)) return capture.get();
  return nullptr;
}

Capture* Captures::of(const ops::OpHeader& op) const {
  const Stream* const stream = captures_.empty() ? nullptr : streams_.find(op.stream);
  return stream ? of(*stream) : nullptr;
}

Capture* Captures::of_event(uint64_t event) const {
  for (const auto& capture : captures_)
    if (capture->has_event(event)) return capture.get();
  return nullptr;
}

Capture* Captures::begun_on(uint64_t stream) const {
  for (const auto& capture : captures_)
    if (capture->origin() == stream) return capture.get();
  return nullptr;
}

// -- begin and end -------------------------------------------------------------------------------------

void Captures::begin(const ops::OpHeader& op) {
  Stream& stream = issuer_.stream_of(op);
  if (&stream == &streams_.legacy()) throw uncapturable("the default stream");
  if (stream.diverted()) throw captured_already();
  captures_.push_back(std::make_unique<Capture>(issuer_.context(), op.stream, stream));
  issuer_.done_in_place(op);
}

std::unique_ptr<Capture> Captures::take(const ops::OpHeader& op) {
  const auto found = std::find_if(captures_.begin(), captures_.end(),
                                  [&](const auto& capture) { return capture->origin() == op.stream; });
  if (found == captures_.end()) throw never_begun();
  auto capture = std::move(*found);
  captures_.erase(found);
  return capture;
}

bool Captures::invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message) {
  Capture* const capture = issuer_.rebuilding() || error.sticky ? nullptr : of(op);
  if (!capture) return false;
  capture->invalidate({error.status, error.cause, message});
  issuer_.done_in_place(op);
  return true;
}

void Captures::drop_communicating() {
  std::erase_if(captures_, [](const auto& capture) { return capture->communicates(); });
}

Captures::List Captures::set_aside() {
  List aside;
  for (const auto& capture : captures_) capture->set_aside();
  aside.swap(captures_);
  return aside;
}

void Captures::take_up(List aside) {
  captures_.clear();
  captures_.swap(aside);
  for (const auto& capture : captures_) capture->take_up();
}

// -- ops that mean something else ----------------------------------------------------------------------

bool Captures::intercept(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::event_record:
      return record(op, as<ops::EventRecord>(op).event);
    case OpId::event_wait:
      return wait(op, as<ops::EventWait>(op).event);
    case OpId::event_destroy:
      if (Capture* const capture = of_event(as<ops::EventDestroy>(op).handle))
        capture->forget_event(as<ops::EventDestroy>(op).handle);
      return false;
    case OpId::stream_synchronize:
      if (of(op)) throw uncapturable("synchronizing the stream");
      return false;
    case OpId::device_synchronize:
      for (const auto& capture : captures_) capture->invalidate(uncapturable("synchronizing the device"));
      throw uncapturable("synchronizing the device");
    case OpId::event_synchronize:
      refuse_captured(as<ops::EventSynchronize>(op).event);
      return false;
    case OpId::event_elapsed:
      refuse_captured(as<ops::EventElapsed>(op).start);
      refuse_captured(as<ops::EventElapsed>(op).end);
      return false;
    case OpId::stream_destroy:
      leave(as<ops::StreamDestroy>(op).handle);
      return false;
    default:
      return false;
  }
}

bool Captures::record(const ops::OpHeader& op, uint64_t event) {
  Stream& stream = issuer_.stream_of(op);
  Capture* const before = of_event(event);
  Capture* const capture = of(stream);
  if (before && before != capture) before->forget_event(event);
  if (!capture) return false;
  if (!issuer_.rebuilding()) events_.at(event);
  capture->record(event, stream);
  issuer_.submitted(stream, op);
  return true;
}

bool Captures::wait(const ops::OpHeader& op, uint64_t event) {
  Stream& stream = issuer_.stream_of(op);
  Capture* const capture = of(stream);
  Capture* const other = of_event(event);
  if (!capture && !other) return false;
  if (&stream == &streams_.legacy()) throw uncapturable("work on the default stream");
  if (!other) {
    if (!events_.at(event)->recorded) return issuer_.submitted(stream, op), true;  // nothing to wait for
    throw foreign_event();
  }
  if (capture && capture != other) {
    const OpError merge = captures_merge();
    other->invalidate(merge);
    throw merge;
  }
  other->wait(event, stream);
  issuer_.submitted(stream, op);
  return true;
}

void Captures::refuse_captured(uint64_t event) const {
  Capture* const capture = of_event(event);
  if (!capture) return;
  const OpError error = captured_event();
  capture->invalidate(error);
  throw error;
}

/// A captured stream is destroyed: the capture cannot end as it should.
void Captures::leave(uint64_t handle) {
  Stream* const stream = streams_.find(handle);
  Capture* const capture = stream ? of(*stream) : nullptr;
  if (!capture) return;
  capture->invalidate(uncapturable("destroying a captured stream"));
  capture->forget_stream(*stream);
}

}  // namespace jitc::cuda
