// See captures.h.
#include "captures.h"

#include <algorithm>

#include "base/operands.h"
#include "jitc/generated_op_traits.h"

namespace jitc::software {
namespace {
/// In the words of the program.
std::string name_of(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::copy_h2d:
    case OpId::copy_h2d_pinned:
      return "a copy from the host";
    case OpId::copy_d2h:
    case OpId::copy_d2h_pinned:
      return "a copy to the host";
    case OpId::operator_query:
      return "an operator whose results depend on what is computed";
    default:
      return "this op";
  }
}
}  // namespace

Capture* Captures::of(const ops::OpHeader& op) const {
  if (op.stream <= kLastDefaultStream) return nullptr;
  for (const auto& capture : captures_)
    if (capture->has(op.stream)) return capture.get();
  return nullptr;
}

Capture* Captures::of_event(uint64_t event) const {
  for (const auto& capture : captures_)
    if (capture->has_event(event)) return capture.get();
  return nullptr;
}

// -- begin and end -------------------------------------------------------------------------------------

void Captures::begin(const ops::OpHeader& op) {
  issuer_.stream_of(op);
  if (op.stream <= kLastDefaultStream) throw uncapturable("the default stream");
  if (of(op)) throw captured_already();
  captures_.push_back(std::make_unique<Capture>(op.stream));
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
  Capture* const capture = of(op);
  if (!capture) return false;
  capture->invalidate({error.status, error.cause, message});
  issuer_.done_in_place(op);
  return true;
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
    case OpId::graph_launch:
      return false;
    default:
      return work(op);
  }
}

bool Captures::work(const ops::OpHeader& op) {
  const ops::OpTraits& traits = ops::traits(static_cast<ops::OpId>(op.op));
  Capture* const capture = traits.on_stream ? of(op) : nullptr;
  if (!capture) return false;
  if (!traits.capturable) throw uncapturable(name_of(op));
  capture->add(op);
  issuer_.done_in_place(op);
  return true;
}

bool Captures::record(const ops::OpHeader& op, uint64_t event) {
  Capture* const before = of_event(event);
  Capture* const capture = of(op);
  if (before && before != capture) before->forget_event(event);
  if (!capture) return false;
  events_.is_recorded(event);  // that it exists
  capture->record(event, op.stream);
  issuer_.done_in_place(op);
  return true;
}

bool Captures::wait(const ops::OpHeader& op, uint64_t event) {
  Capture* const capture = of(op);
  Capture* const other = of_event(event);
  if (!capture && !other) return false;
  issuer_.stream_of(op);
  if (op.stream <= kLastDefaultStream) throw uncapturable("work on the default stream");
  if (!other) {
    if (events_.is_recorded(event)) throw foreign_event();
    issuer_.done_in_place(op);  // nothing to wait for
    return true;
  }
  if (capture && capture != other) {
    other->invalidate(captures_merge());
    throw captures_merge();
  }
  other->wait(event, op.stream);
  issuer_.done_in_place(op);
  return true;
}

void Captures::refuse_captured(uint64_t event) const {
  Capture* const capture = of_event(event);
  if (!capture) return;
  capture->invalidate(captured_event());
  throw captured_event();
}

/// A captured stream is destroyed: the capture cannot end as it should.
void Captures::leave(uint64_t stream) {
  for (const auto& capture : captures_) {
    if (!capture->has(stream)) continue;
    capture->invalidate(uncapturable("destroying a captured stream"));
    capture->forget_stream(stream);
  }
}

}  // namespace jitc::software
