// Placing of stream and event ops. See device.h. Synchronizing never blocks: it is a mark and a result.
#include <algorithm>

#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"

namespace jitc::cuda {
namespace {}

void Device::place_nowhere(const ops::OpHeader& op) { done_in_place(op); }

void Device::place_stream_create(const ops::OpHeader& op) {
  const auto& create = as<ops::StreamCreate>(op);
  if (create.handle <= kLastDefaultStream || streams_.contains(create.handle))
    refuse_handle("stream " + hex(create.handle) + " exists already");
  const Resources::Stream wanted{create.handle, create.flags, create.priority};
  streams_.emplace(create.handle, std::make_unique<Stream>(context_, *completer_, wanted));
  done_in_place(op);
}

void Device::place_stream_destroy(const ops::OpHeader& op) {
  const auto found = streams_.find(as<ops::StreamDestroy>(op).handle);
  if (found == streams_.end())
    refuse_handle("stream " + hex(as<ops::StreamDestroy>(op).handle) + " does not exist");
  done_in_place(op);
  completer_->mark(found->second->track());
  std::erase(fresh_, found->second.get());
  retired_.push_back(std::move(found->second));
  streams_.erase(found);
  reap_streams(false);
}

/// Destroyed streams end once their work is done, on whoever comes along then.
void Device::reap_streams(bool all) {
  std::erase_if(retired_,
                [&](const StreamPointer& stream) { return all || completer_->dry(*stream->track()); });
}

/// Answers when everything that the streams were given has run.
void Device::answer_after(std::vector<Stream*> streams, const ops::OpHeader& op) {
  done_in_place(op);
  std::erase_if(streams, [this](const Stream* stream) { return completer_->dry(*stream->track()); });
  if (streams.empty()) return answer(op);
  const auto remaining = std::make_shared<std::atomic<size_t>>(streams.size());
  for (Stream* const stream : streams)
    completer_->after(stream->track(), {0, 0, {}, [this, remaining, sequence = op.sequence] {
                                          if (remaining->fetch_sub(1) == 1)
                                            sink_.result(sequence, kSuccess, {});
                                        }});
}

void Device::place_stream_synchronize(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  std::vector<Stream*> streams{&stream};
  // Work on the legacy default stream orders itself with that of every blocking stream.
  if (&stream == legacy_.get())
    for (Stream* const other : all_streams())
      if (other != &stream && other->blocking()) streams.push_back(other);
  answer_after(std::move(streams), op);
}

void Device::place_device_synchronize(const ops::OpHeader& op) {
  reap_streams(false);
  answer_after(all_streams(), op);
}

void Device::place_event_create(const ops::OpHeader& op) {
  const auto& create = as<ops::EventCreate>(op);
  if (events_.contains(create.handle)) refuse_handle("event " + hex(create.handle) + " exists already");
  events_.emplace(create.handle, std::make_shared<Event>(context_, create.flags));
  done_in_place(op);
}

void Device::place_event_destroy(const ops::OpHeader& op) {
  if (events_.erase(as<ops::EventDestroy>(op).handle) == 0)
    refuse_handle("event " + hex(as<ops::EventDestroy>(op).handle) + " does not exist");
  done_in_place(op);
}

void Device::place_event_record(const ops::OpHeader& op) {
  Event& event = event_of(as<ops::EventRecord>(op).event);
  Stream& stream = stream_of(op);
  check("cuEventRecord", driver().cuEventRecord(event.real(), stream.real()));
  submitted(stream, op);
  event.recorded = true;
  event.track = stream.track();
  event.ticket = completer_->mark(stream.track());
}

void Device::place_event_wait(const ops::OpHeader& op) {
  const Event& event = event_of(as<ops::EventWait>(op).event);
  Stream& stream = stream_of(op);
  check("cuStreamWaitEvent", driver().cuStreamWaitEvent(stream.real(), event.real(), 0));
  submitted(stream, op);
}

void Device::place_event_synchronize(const ops::OpHeader& op) {
  const Event& event = event_of(as<ops::EventSynchronize>(op).event);
  done_in_place(op);
  if (!event.track) return answer(op);
  completer_->after(event.track, event.ticket, {op.sequence, 0, {}, {}});
}

/// The driver's time is asked for when both records are done. The client asks only then; a replay may be
/// faster than the GPU.
void Device::place_event_elapsed(const ops::OpHeader& op) {
  const EventPointer start = event_pointer(as<ops::EventElapsed>(op).start);
  const EventPointer end = event_pointer(as<ops::EventElapsed>(op).end);
  for (const EventPointer& event : {start, end})
    if (!event->recorded || !event->timed()) refuse_handle("the event has no time");
  done_in_place(op);
  const auto when_done = [this](const EventPointer& event, std::function<void()> then) {
    if (!event->track) return then();
    completer_->after(event->track, event->ticket, {0, 0, {}, std::move(then)});
  };
  // Tracks and tickets are those of now, whatever is recorded later.
  const auto ask = [this, start, end, sequence = op.sequence] { measure(*start, *end, sequence); };
  const auto end_track = end->track;
  const auto end_ticket = end->ticket;
  when_done(start, [this, ask, end_track, end_ticket] {
    if (!end_track) return ask();
    completer_->after(end_track, end_ticket, {0, 0, {}, ask});
  });
}

void Device::measure(const Event& start, const Event& end, uint64_t sequence) {
  float milliseconds = 0;
  auto status = context_->bind();
  if (status == 0) status = driver().cuEventElapsedTime(&milliseconds, start.real(), end.real());
  if (status == 0) return sink_.result(sequence, kSuccess, packed(milliseconds));
  const OpError error = error_of(driver(), "cuEventElapsedTime", status);
  if (error.sticky) return fault(sequence, error);
  sink_.result(sequence, error.status, std::as_bytes(std::span(error.message)));
}

}  // namespace jitc::cuda
