// See event_handlers.h.
#include "event_handlers.h"

#include <chrono>
#include <memory>
#include <utility>

#include "device/common/operands.h"
#include "device/software/errors/error.h"

namespace jitc::software {

const Event& EventHandlers::at(uint64_t handle) const {
  const auto found = events_.find(handle);
  if (found == events_.end()) refuse_handle("event " + hex(handle) + " does not exist");
  return found->second;
}

Event& EventHandlers::at(uint64_t handle) { return const_cast<Event&>(std::as_const(*this).at(handle)); }

void EventHandlers::create(const ops::EventCreate& op) {
  if (!events_.try_emplace(op.handle, Event{op.flags, nullptr}).second)
    refuse_handle("event " + hex(op.handle) + " exists already");
  issuer_.completed_synchronously(op.header);
}

void EventHandlers::destroy(const ops::EventDestroy& op) {
  if (events_.erase(op.handle) == 0) refuse_handle("event " + hex(op.handle) + " does not exist");
  issuer_.completed_synchronously(op.header);
}

void EventHandlers::record(const ops::EventRecord& op) {
  Event& event = at(op.event);
  Stream& stream = issuer_.stream_of(op.header);
  const auto record = event.latest = std::make_shared<Record>();
  auto after = streams_.legacy_order(stream);
  if (!after.empty() || !stream.idle())
    return issuer_.push(
        stream,
        {&op.header, [this, done = record.get()] { runner_.finish(*done); }, std::move(after), {}, record});
  runner_.finish(*record);
  stream.note(op.header.sequence);
}

/// Queues a wait like any work of its stream: with nothing to wait for, progress may pass it only if the
/// legacy default stream's order allows it.
void EventHandlers::wait(const ops::EventWait& op) {
  const Event& event = at(op.event);
  Stream& stream = issuer_.stream_of(op.header);
  auto after = streams_.legacy_order(stream);
  const bool over = !event.latest || event.latest->done();
  if (over && after.empty()) return stream.note(op.header.sequence);
  issuer_.push(stream, {&op.header, {}, std::move(after), over ? nullptr : event.latest, {}});
}

void EventHandlers::synchronize(const ops::EventSynchronize& op) {
  const Event& event = at(op.event);
  issuer_.completed_synchronously(op.header);
  if (!event.latest || !event.latest->notify(op.header.sequence)) issuer_.answer(op.header);
}

void EventHandlers::elapsed(const ops::EventElapsed& op) {
  const Event& start = at(op.start);
  const Event& end = at(op.end);
  for (const Event* event : {&start, &end})
    if (!event->latest || (event->flags & Event::kDisableTiming)) refuse_handle("the event has no time");
  if (!start.latest->done() || !end.latest->done())
    refuse(kNotReady, "not-ready", "the event is recorded but its work is not done yet");
  issuer_.completed_synchronously(op.header);
  const std::chrono::duration<float, std::milli> elapsed = end.latest->time() - start.latest->time();
  issuer_.answer(op.header, packed(elapsed.count()));
}

/// Restores events as recorded: their state is not known any more, but all earlier work is done. All get one
/// time, so that none seems to have been recorded before an earlier one.
void EventHandlers::restore(const std::vector<Resources::Event>& wanted) {
  std::unordered_map<uint64_t, Event> old;
  old.swap(events_);
  const auto now = Record::Clock::now();
  for (const Resources::Event& one : wanted) {
    const auto found = old.find(one.handle);
    auto record =
        found == old.end() || !found->second.latest ? std::make_shared<Record>() : found->second.latest;
    if (!record->done()) record->finish(now);
    events_[one.handle] = {one.flags, std::move(record)};
  }
}

}  // namespace jitc::software
