// Events: virtual handles that remember the stream and sequence of their latest record.
//
// Promise: a query costs a table look-up and, if the answer is not known yet, a check of arrived messages
// (watchdog threads query all the time).

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "capture.h"
#include "jitc/generated_ops.h"
#include "jitc/limits.h"
#include "jitc/packed_reader.h"
#include "order.h"

namespace jitc::api {
namespace {

struct Event {
  Session* session = nullptr;
  uint64_t stream = 0, sequence = 0;  // of the latest record; sequence 0: never recorded
  uint32_t flags = 0;
  uint64_t capture = 0;  // capture of the latest record; 0: none
};
using Events = HandleTable<Event, Kind::event>;
Events& events() {
  static auto& out = *new Events;
  return out;
}
constexpr uint32_t kDisableTiming = 2, kInterprocess = 4, kKnownFlags = 7;
constexpr uint32_t kExternal = 1;  // of a record or a wait in a capture: outside of the graph's order

/// Returns whether the event is known to be done, from arrived messages.
bool done(const Event& event) {
  return !event.sequence || event.session->find_executed(event.stream, event.sequence, Session::Wait::no);
}

Status wait_for(uint64_t handle, const Event& event) {
  if (event.capture) return kCapturedEvent;
  if (const uint32_t over = event.session->status()) return from_result(over);
  if (!event.sequence || event.session->find_executed(event.stream, event.sequence, Session::Wait::yes)) {
    if (event.sequence) tell_waited(*event.session, event.stream, event.sequence);
    return kSuccess;
  }
  auto op = on_stream<ops::EventSynchronize>(event.stream);
  op.event = handle;
  return from_result(event.session->call(op).status);
}

/// Waits for an event of a capture, or on a stream that is being captured.
Status wait_in_capture(const StreamRef& ref, uint64_t stream, const Event& event, uint32_t flags) {
  if (flags & kExternal)
    if (const Status status = refuse_in_capture(ref, "events of the outside cannot be waited for"))
      return status;
  if (event.capture) return join_capture(ref, event.capture, is_blocking(stream));
  if (!event.sequence) return kSuccess;
  invalidate_capture(capture_of(ref).id);
  return kStreamCaptureIsolation;
}

}  // namespace

int32_t cudaEventCreateWithFlags(uint64_t* handle, uint32_t flags) {
  Status status = kSuccess;
  Session* session = current_session(&status);
  if (!session) return status;
  if (!handle || (flags & ~kKnownFlags)) return kInvalidValue;
  if ((flags & kInterprocess) && !(flags & kDisableTiming)) return kInvalidValue;  // as in CUDA
  ops::EventCreate op;
  op.handle = events().add({session, 0, 0, flags, 0}, limits::kEvents);
  if (!op.handle) return too_many("events", limits::kEvents);
  // The device need not know that other processes may open it: sharing it (cudaIpcGetEventHandle) is refused,
  // and in this process the event behaves like any other.
  op.flags = flags & ~kInterprocess;
  *handle = op.handle;
  return submitted(*session, session->submit(op));
}
int32_t cudaEventCreate(uint64_t* handle) { return cudaEventCreateWithFlags(handle, 0); }

int32_t cudaEventDestroy(uint64_t handle) {
  Event gone;
  if (!events().remove(handle, &gone)) return kInvalidResourceHandle;
  ops::EventDestroy op;
  op.handle = handle;
  return submitted(*gone.session, gone.session->submit(op));
}

int32_t cudaEventRecordWithFlags(uint64_t handle, uint64_t stream, uint32_t flags) {
  StreamRef ref;
  if (const Status status = resolve_stream(stream, &ref)) return status;
  Event event;
  if (!events().get(handle, &event)) return kInvalidResourceHandle;
  // The default stream means the event's own device when the thread is on another.
  if (ref.session != event.session) {
    if (ref.id) return kInvalidResourceHandle;
    ref = {event.session, 0, device_of(event.session)};
  }
  const uint64_t capture = capture_of(ref).id;
  if (flags & kExternal)
    if (const Status status = refuse_in_capture(ref, "events cannot be recorded for the outside"))
      return status;
  auto op = on_stream<ops::EventRecord>(ref.id);
  op.event = handle;
  const uint64_t sequence = ref.session->submit(op);
  if (!sequence) return not_submitted(*ref.session);
  events().update(handle, [&](Event& e) {
    e.capture = capture;
    // Two threads may record at once: the later record counts.
    if (!capture && sequence > e.sequence) e.stream = ref.id, e.sequence = sequence;
  });
  return kSuccess;
}
int32_t cudaEventRecord(uint64_t handle, uint64_t stream) {
  return cudaEventRecordWithFlags(handle, stream, 0);
}

int32_t cudaEventQuery(uint64_t handle) {
  Event event;
  if (forked()) return kInitializationError;
  if (!events().get(handle, &event)) return kInvalidResourceHandle;
  if (event.capture) return kCapturedEvent;
  const bool known = done(event);
  if (const uint32_t over = event.session->status()) return from_result(over);
  if (known) note_done(*event.session, event.stream, event.sequence);
  return known ? kSuccess : kNotReady;
}
int32_t cudaEventSynchronize(uint64_t handle) {
  Event event;
  return events().get(handle, &event) ? wait_for(handle, event) : kInvalidResourceHandle;
}

int32_t cudaStreamWaitEvent(uint64_t stream, uint64_t handle, uint32_t flags) {
  StreamRef ref;
  if (const Status status = resolve_stream(stream, &ref)) return status;
  Event event;
  if (!events().get(handle, &event)) return kInvalidResourceHandle;
  if (event.capture || capture_of(ref).id) {
    const Status status = wait_in_capture(ref, stream, event, flags);
    if (status || !(event.capture || event.sequence)) return status;
  } else if (!event.sequence) {
    return kSuccess;
  }
  // An event of another GPU. Its work is submitted already, so the wait will end.
  if (ref.session != event.session) return wait_for(handle, event);
  auto op = on_stream<ops::EventWait>(ref.id);
  op.event = handle;
  return submitted(*ref.session, ref.session->submit(op));
}

int32_t cudaEventElapsedTime(float* milliseconds, uint64_t start, uint64_t end) {
  Event first, second;
  if (!milliseconds) return kInvalidValue;
  if (!events().get(start, &first) || !events().get(end, &second)) return kInvalidResourceHandle;
  if (first.capture || second.capture) return kCapturedEvent;
  if (((first.flags | second.flags) & kDisableTiming) || !first.sequence || !second.sequence)
    return kInvalidResourceHandle;
  if (first.session != second.session) return kInvalidResourceHandle;
  if (!done(first) || !done(second)) {
    const uint32_t over = first.session->status();
    return over ? from_result(over) : kNotReady;
  }
  ops::EventElapsed op;
  op.start = start;
  op.end = end;
  const session::Result result = first.session->call(op);
  if (result.status) return from_result(result.status);
  return unpack(result.payload, milliseconds) ? kSuccess : kUnknown;
}

}  // namespace jitc::api
