// See event_handlers.h.
#include "event_handlers.h"

#include <functional>
#include <utility>

#include "device/common/operands.h"

namespace jitc::cuda {

void EventHandlers::create(const ops::EventCreate& op) {
  events_.create(op.handle, op.flags);
  issuer_.completed_synchronously(op.header);
}

void EventHandlers::destroy(const ops::EventDestroy& op) {
  events_.destroy(op.handle);
  issuer_.completed_synchronously(op.header);
}

void EventHandlers::record(const ops::EventRecord& op) {
  Event& event = *events_.at(op.event);
  Stream& stream = issuer_.stream_of(op.header);
  issuer_.check("cuEventRecord", issuer_.driver().cuEventRecord(event.real(), stream.real()));
  issuer_.submitted(stream, op.header);
  event.recorded = true;
  event.stands_in = false;
  event.timeline = stream.timeline();
  event.value = poller_.mark(stream.timeline());
}

void EventHandlers::wait(const ops::EventWait& op) {
  const Event& event = *events_.at(op.event);
  Stream& stream = issuer_.stream_of(op.header);
  issuer_.check("cuStreamWaitEvent", issuer_.driver().cuStreamWaitEvent(stream.real(), event.real(), 0));
  issuer_.submitted(stream, op.header);
}

void EventHandlers::synchronize(const ops::EventSynchronize& op) {
  const Event& event = *events_.at(op.event);
  issuer_.completed_synchronously(op.header);
  if (!event.timeline) return issuer_.answer(op.header);
  poller_.after(event.timeline, event.value, {op.header.sequence, 0, {}, {}});
}

/// Queries the driver's time when both records are done. The client asks only then; a replay may be faster
/// than the GPU. There is no time between records that a restore has lost.
void EventHandlers::elapsed(const ops::EventElapsed& op) {
  const Events::Pointer start = events_.at(op.start);
  const Events::Pointer end = events_.at(op.end);
  for (const Events::Pointer& event : {start, end})
    if (!event->recorded || !event->timed()) refuse_handle("the event has no time");
  issuer_.completed_synchronously(op.header);
  if (start->stands_in && end->stands_in) return issuer_.answer(op.header, packed(0.0F));
  const uint64_t sequence = op.header.sequence;
  const auto when_done = [this, sequence](const Events::Pointer& event, std::function<void()> then) {
    if (!event->timeline) return then();
    poller_.after(event->timeline, event->value, {sequence, 0, {}, std::move(then)});
  };
  // Timelines and values are those of now, even if later records follow.
  const auto ask = [this, start, end, sequence] { measure(*start, *end, sequence); };
  const auto end_timeline = end->timeline;
  const auto end_value = end->value;
  when_done(start, [this, ask, end_timeline, end_value, sequence] {
    if (!end_timeline) return ask();
    poller_.after(end_timeline, end_value, {sequence, 0, {}, ask});
  });
}

void EventHandlers::measure(const Event& start, const Event& end, uint64_t sequence) const {
  const Driver& driver = issuer_.driver();
  float milliseconds = 0;
  auto status = issuer_.context()->bind();
  if (status == 0) status = driver.cuEventElapsedTime(&milliseconds, start.real(), end.real());
  if (status == 0) return issuer_.sink().result(sequence, kSuccess, packed(milliseconds));
  const OpError error = error_of(driver, "cuEventElapsedTime", status);
  if (error.sticky) return state_.fault(sequence, error.status, error.cause, error.message);
  issuer_.sink().result(sequence, error.status, std::as_bytes(std::span(error.message)));
}

}  // namespace jitc::cuda
