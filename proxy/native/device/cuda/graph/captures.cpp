// See captures.h.
#include "captures.h"

namespace jitc::cuda {

Capture* Captures::of(const Stream& stream) const {
  if (!stream.diverted()) return nullptr;
  return find([&](const Capture& one) { return one.has(stream); });
}

Capture* Captures::of(const ops::OpHeader& op) const {
  const Stream* const stream = captures_.empty() ? nullptr : streams_.find(op.stream);
  return stream ? of(*stream) : nullptr;
}

// -- begin and end -------------------------------------------------------------------------------------

void Captures::begin(const ops::OpHeader& op) {
  Stream& stream = issuer_.stream_of(op);
  if (&stream == &streams_.legacy()) throw uncapturable("the default stream");
  if (stream.diverted()) throw captured_already();
  captures_.push_back(std::make_unique<Capture>(issuer_.context(), op.stream, stream));
  issuer_.completed_synchronously(op);
}

bool Captures::invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message) {
  Capture* const capture = issuer_.rebuilding() || error.sticky ? nullptr : of(op);
  if (!capture) return false;
  capture->invalidate({error.status, error.cause, message});
  issuer_.completed_synchronously(op);
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

// -- ops with another meaning ---------------------------------------------------------------------------

bool Captures::record(const ops::OpHeader& op, uint64_t event) {
  Stream& stream = issuer_.stream_of(op);
  Capture* const capture = of(stream);
  recorded(event, capture);
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
  refuse_merge(capture, *other);
  other->wait(event, stream);
  issuer_.submitted(stream, op);
  return true;
}

/// Invalidates the capture of a destroyed stream: it cannot end as it should.
void Captures::leave(uint64_t handle) {
  Stream* const stream = streams_.find(handle);
  Capture* const capture = stream ? of(*stream) : nullptr;
  if (!capture) return;
  capture->invalidate(uncapturable("destroying a captured stream"));
  capture->forget_stream(*stream);
}

}  // namespace jitc::cuda
