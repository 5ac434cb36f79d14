// Streams and events: creation, waiting, values in memory, host functions.
#include <atomic>
#include <thread>
#include <utility>

#include "call.h"
#include "capture.h"
#include "functions.h"

namespace jitc::fakes {
namespace {
constexpr unsigned kNonBlocking = 1, kNoTiming = 2, kInterprocess = 4;

thread_local int fault_asked = 0;

Cost real_time() { return {Cost::kHost}; }

Field stream_field(CUstream stream) { return Field::address("stream", stream); }
Field event_field(CUevent event) { return Field::address("event", event); }

int create_stream(const char* name, CUstream* out, unsigned flags, int priority) {
  return call(name, Needs::context, {Field::count("flags", flags), Field::real("priority", priority)},
              [&](Call& call) {
                if (flags & ~kNonBlocking) throw Failure{kInvalidValue};
                const auto lock = locked();
                *needed(out) = call.context().create_stream(flags, std::clamp(priority, -5, 0));
                call.note(Field::address("out", *out));
              });
}

template <class Unit>
bool satisfied(Unit now, Unit value, unsigned condition) {
  switch (condition) {
    case 0:
      return static_cast<std::make_signed_t<Unit>>(now - value) >= 0;
    case 1:
      return now == value;
    case 2:
      return (now & value) != 0;
    default:
      return static_cast<Unit>(~(now | value)) != 0;
  }
}

template <class Unit>
Unit value_at(CUdeviceptr address) {
  const auto hold = Memory::instance().hold();
  auto* place = reinterpret_cast<Unit*>(Memory::instance().at(address, sizeof(Unit)));
  return std::atomic_ref(*place).load(std::memory_order_acquire);
}

template <class Unit>
int write_value(const char* name, CUstream handle, CUdeviceptr address, Unit value) {
  return call(name, Needs::context,
              {stream_field(handle), Field::address("address", address), Field::count("value", value)},
              [&](Call& call) {
                if (address % sizeof(Unit)) throw Failure{kInvalidValue};
                const auto lock = locked();
                call.context().submit(call.context().stream(handle), name, [=] {
                  const auto hold = Memory::instance().hold();
                  auto* place = reinterpret_cast<Unit*>(Memory::instance().at(address, sizeof(Unit)));
                  std::atomic_ref(*place).store(value, std::memory_order_release);
                });
              });
}

/// Anybody may write the value, also another process, so that looking again and again is the only way.
template <class Unit>
void wait_until(const Context& context, CUdeviceptr address, Unit value, unsigned condition) {
  while (!satisfied(value_at<Unit>(address), value, condition)) {
    {
      const auto lock = locked();
      if (context.over()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

template <class Unit>
int wait_value(const char* name, CUstream handle, CUdeviceptr address, Unit value, unsigned flags) {
  return call(name, Needs::context,
              {stream_field(handle), Field::address("address", address), Field::count("value", value),
               Field::count("flags", flags)},
              [&](Call& call) {
                if (address % sizeof(Unit) || (flags & ~3u)) throw Failure{kInvalidValue};
                const auto lock = locked();
                Context& context = call.context();
                context.submit(
                    context.stream(handle), name,
                    [=, &context] { wait_until(context, address, value, flags); }, real_time);
              });
}

/// The program's own code: the context does not wait for it when it ends.
void run_host_function(Context& context, CUhostFn function, void* data) {
  {
    const auto lock = locked();
    --context.running;
    Driver::instance().changed.notify_all();
  }
  in_host_function = true;
  function(data);
  in_host_function = false;
  const auto lock = locked();
  ++context.running;
  if (const int code = std::exchange(fault_asked, 0)) throw Failure{code};
}

int record(const char* name, CUevent handle, CUstream stream_handle) {
  return call(name, Needs::context, {event_field(handle), stream_field(stream_handle)}, [&](Call& call) {
    const auto lock = locked();
    Event& event = Driver::instance().event(handle);
    Context& context = call.context();
    Stream& stream = context.stream(stream_handle);
    if (event.context.get() != &context) throw Failure{kInvalidHandle};
    event.recorded = true;
    event.capture = stream.capture;
    if (!stream.capture) return void(event.marker = context.submit(stream, name, {}));
    if (stream.capture->invalid) throw Failure{kCaptureInvalidated};
    event.captured_after = stream.capture->tails[stream.shared_from_this()];
  });
}

void refuse_captured(const Event& event) {
  if (!event.capture) return;
  invalidate(event.capture);
  throw Failure{kCapturedEvent};
}
}  // namespace

int cuStreamCreate(CUstream* out, unsigned flags) { return create_stream("cuStreamCreate", out, flags, 0); }
int cuStreamCreateWithPriority(CUstream* out, unsigned flags, int priority) {
  return create_stream("cuStreamCreateWithPriority", out, flags, priority);
}

int cuStreamDestroy_v2(CUstream stream) {
  return call("cuStreamDestroy_v2", Needs::context, {stream_field(stream)}, [&](Call& call) {
    const auto lock = locked();
    call.context().destroy_stream(stream);
  });
}

int cuStreamSynchronize(CUstream handle) {
  return call("cuStreamSynchronize", Needs::context, {stream_field(handle)}, [&](Call& call) {
    auto lock = locked();
    Stream& stream = call.context().stream(handle);
    refuse_if_capturing(stream);
    if (const int refused = refused_by_capture()) throw Failure{refused};
    call.context().wait_all(lock, call.context().pending(stream));
  });
}

int cuStreamQuery(CUstream handle) {
  return call("cuStreamQuery", Needs::context, {stream_field(handle)}, [&](Call& call) {
    auto lock = locked();
    Stream& stream = call.context().stream(handle);
    refuse_if_capturing(stream);
    if (const int refused = refused_by_capture()) throw Failure{refused};
    if (!call.context().pending(stream).empty()) throw Failure{kNotReady};
  });
}

int cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  return call("cuStreamWaitEvent", Needs::context,
              {stream_field(handle), event_field(event_handle), Field::count("flags", flags)},
              [&](Call& call) {
                const auto lock = locked();
                Event& event = Driver::instance().event(event_handle);
                Context& context = call.context();
                Stream& stream = context.stream(handle);
                wait_event(stream, event);
                // By the device's own clock a point may lie ahead that the host has reached.
                const bool ahead = event.marker && (!event.marker->reached || context.pace);
                if (ahead && !event.capture) context.submit_after(stream, "cuStreamWaitEvent", event.marker);
              });
}

int cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned) {
  return write_value("cuStreamWriteValue32_v2", stream, address, value);
}
int cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned) {
  return write_value("cuStreamWriteValue64_v2", stream, address, value);
}
int cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
  return wait_value("cuStreamWaitValue32_v2", stream, address, value, flags);
}
int cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
  return wait_value("cuStreamWaitValue64_v2", stream, address, value, flags);
}

int cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return call("cuLaunchHostFunc", Needs::context,
              {stream_field(stream), Field::address("function", reinterpret_cast<uint64_t>(function)),
               Field::address("data", data)},
              [&](Call& call) {
                needed(function);
                const auto lock = locked();
                Context& context = call.context();
                context.submit(
                    context.stream(stream), "cuLaunchHostFunc",
                    [=, &context] { run_host_function(context, function, data); }, real_time);
              });
}

int cuStreamGetPriority(CUstream stream, int* priority) {
  return call("cuStreamGetPriority", Needs::context, {stream_field(stream)}, [&](Call& call) {
    const auto lock = locked();
    *needed(priority) = call.context().stream(stream).priority;
  });
}

int cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return call("cuStreamGetFlags", Needs::context, {stream_field(stream)}, [&](Call& call) {
    const auto lock = locked();
    *needed(flags) = call.context().stream(stream).flags;
  });
}

int cuEventCreate(CUevent* out, unsigned flags) {
  return call("cuEventCreate", Needs::context, {Field::count("flags", flags)}, [&](Call& call) {
    if ((flags & ~7u) || ((flags & kInterprocess) && !(flags & kNoTiming))) throw Failure{kInvalidValue};
    const auto lock = locked();
    Driver& driver = Driver::instance();
    const uint64_t handle = driver.new_handle();
    driver.events[handle] = {call.context().shared_from_this(), flags};
    *needed(out) = handle_of<CUevent>(handle);
    call.note(Field::address("out", *out));
  });
}

int cuEventDestroy_v2(CUevent event) {
  return call("cuEventDestroy_v2", Needs::context, {event_field(event)}, [&](Call&) {
    const auto lock = locked();
    Driver::instance().event(event);
    Driver::instance().events.erase(number_of(event));
  });
}

int cuEventRecord(CUevent event, CUstream stream) { return record("cuEventRecord", event, stream); }
int cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return record("cuEventRecordWithFlags", event, stream);
}

int cuEventQuery(CUevent handle) {
  return call("cuEventQuery", Needs::unsafe, {event_field(handle)}, [&](Call&) {
    const auto lock = locked();
    const Event& event = Driver::instance().event(handle);
    refuse_captured(event);
    if (event.marker && !event.marker->reached) throw Failure{kNotReady};
  });
}

int cuEventSynchronize(CUevent handle) {
  return call("cuEventSynchronize", Needs::unsafe, {event_field(handle)}, [&](Call&) {
    auto lock = locked();
    const Event event = Driver::instance().event(handle);
    refuse_captured(event);
    event.context->wait(lock, event.marker);
  });
}

static int elapsed(const char* name, float* out, CUevent from, CUevent to) {
  return call(name, Needs::context, {Field::address("from", from), Field::address("to", to)}, [&](Call&) {
    const auto lock = locked();
    const Event &first = Driver::instance().event(from), &last = Driver::instance().event(to);
    const bool timed = !((first.flags | last.flags) & kNoTiming) && first.marker && last.marker;
    if (!timed || first.context != last.context) throw Failure{kInvalidHandle};
    if (!first.marker->reached || !last.marker->reached) throw Failure{kNotReady};
    *needed(out) = std::chrono::duration<float, std::milli>(last.marker->when - first.marker->when).count();
  });
}
int cuEventElapsedTime(float* out, CUevent from, CUevent to) {
  return elapsed("cuEventElapsedTime", out, from, to);
}
int cuEventElapsedTime_v2(float* out, CUevent from, CUevent to) {
  return elapsed("cuEventElapsedTime_v2", out, from, to);
}

void fault_after_host_function(int code) { fault_asked = code; }

}  // namespace jitc::fakes

void jitc_fake_fault(int code) { jitc::fakes::fault_after_host_function(code); }
