// Streams: virtual handles, each bound to one session.
//
// Promises: a query uses only local knowledge; synchronize asks the worker only if necessary. Op stream 0 is
// the legacy default stream and serves the per-thread one too, which orders more than required, never less.
#include "stream.h"

#include <array>
#include <atomic>

#include "api/common/handles.h"
#include "api/common/settings.h"
#include "api/generated/generated_api.h"
#include "capture.h"
#include "jitc/generated_ops.h"
#include "jitc/limits.h"
#include "order.h"

namespace jitc::api {
namespace {

struct Stream {
  Session* session = nullptr;
  int device = 0;
  uint32_t flags = 0;
  int32_t priority = 0;
};
using Streams = HandleTable<Stream, Kind::stream>;
Streams& streams() {
  static auto& out = *new Streams;
  return out;
}
constexpr uint32_t kNonBlocking = 1;
/// Number of streams that the default stream of a device waits for.
std::array<std::atomic<int>, kMaxDevices> blocking_streams;

Status create(uint64_t* handle, uint32_t flags, int32_t priority) {
  Status status = kSuccess;
  Session* session = current_session(&status);
  if (!session) return status;
  if (!handle || flags > kNonBlocking) return kInvalidValue;
  const Stream stream{session, current_device(), flags, priority > 0 ? 0 : priority < -5 ? -5 : priority};
  ops::StreamCreate op;
  op.handle = streams().add(stream, limits::kStreams);
  if (!op.handle) return too_many("streams", limits::kStreams);
  op.flags = flags;
  op.priority = stream.priority;
  if (!(flags & kNonBlocking)) ++blocking_streams[static_cast<size_t>(stream.device)];
  *handle = op.handle;
  return submitted(*session, session->submit(op));
}

/// Returns whether a wait for the stream waits for its own work only.
bool stands_alone(const StreamRef& stream) {
  return stream.id != 0 || blocking_streams[static_cast<size_t>(stream.device)].load() == 0;
}

template <class Read>
Status read_stream(uint64_t handle, Read&& read) {
  Stream stream{nullptr, current_device(), 0, 0};
  if (!is_default_stream(handle) && !streams().get(handle, &stream)) return kInvalidResourceHandle;
  return read(stream);
}

using Callback = void (*)(uint64_t, Status, void*);
using HostFunction = void (*)(void*);

}  // namespace

Status find_stream(uint64_t stream, StreamRef* out) {
  Status status = kSuccess;
  if (is_default_stream(stream)) {
    out->device = current_device();
    out->id = 0;
    out->session = session_of(out->device, &status);
    return status;
  }
  Stream found;
  if (!streams().get(stream, &found)) return kInvalidResourceHandle;
  *out = {found.session, stream, found.device};
  return kSuccess;
}

bool is_known_stream(uint64_t stream) { return is_default_stream(stream) || streams().contains(stream); }

bool is_blocking(uint64_t stream) {
  Stream found;
  return streams().get(stream, &found) && !(found.flags & kNonBlocking);
}

bool is_ordered_alone(uint64_t stream) {
  return is_default_stream(stream) ? stands_alone({nullptr, 0, current_device()}) : !is_blocking(stream);
}

Status resolve_stream(uint64_t stream, StreamRef* out) {
  const Status status = find_stream(stream, out);
  return status ? status : check_capture(*out);
}

Status synchronize(const StreamRef& stream) {
  if (const Status status = refuse_in_capture(stream,
                                              "the process cannot wait for a stream in it (nor run a "
                                              "function of its own or stage a copy)"))
    return status;
  if (const uint32_t over = stream.session->status()) return from_result(over);
  const uint64_t last = stream.session->last_submitted(stream.id);
  if (stands_alone(stream) && stream.session->find_executed(stream.id, last, Session::Wait::yes))
    return tell_waited(*stream.session, stream.id), kSuccess;
  return from_result(stream.session->call(on_stream<ops::StreamSynchronize>(stream.id)).status);
}

Status wait_for_device(Session& session) {
  if (const uint32_t over = session.status()) return from_result(over);
  if (session.find_all_executed()) return tell_waited(session, 0, 0), kSuccess;
  return from_result(session.call(ops::DeviceSynchronize{}).status);
}

int32_t cudaDeviceSynchronize() {
  Status status = kSuccess;
  Session* session = current_session(&status);
  if (!session) return status;
  status = refuse_in_any_capture(*session, "the process cannot wait for the device");
  if (status) return status;
  return wait_for_device(*session);
}
int32_t cudaDeviceReset() { return has_session(current_device()) ? cudaDeviceSynchronize() : kSuccess; }

int32_t cudaStreamCreate(uint64_t* stream) { return create(stream, 0, 0); }
int32_t cudaStreamCreateWithFlags(uint64_t* stream, uint32_t flags) { return create(stream, flags, 0); }
int32_t cudaStreamCreateWithPriority(uint64_t* stream, uint32_t flags, int32_t priority) {
  return create(stream, flags, priority);
}
int32_t cudaStreamDestroy(uint64_t stream) {
  Stream gone;
  if (!streams().get(stream, &gone)) return kInvalidResourceHandle;
  if (const Status status = refuse_in_capture({gone.session, stream, gone.device}, "its streams must stay"))
    return status;
  if (!streams().remove(stream, &gone)) return kInvalidResourceHandle;
  if (!(gone.flags & kNonBlocking)) --blocking_streams[static_cast<size_t>(gone.device)];
  ops::StreamDestroy op;
  op.handle = stream;
  return submitted(*gone.session, gone.session->submit(op));
}
int32_t cudaStreamQuery(uint64_t stream) {
  StreamRef ref;
  if (const Status status = resolve_stream(stream, &ref)) return status;
  if (const Status status = refuse_in_capture(ref, "its streams cannot be asked whether they are done"))
    return status;
  const uint64_t last = ref.session->last_submitted(ref.id);
  const bool known = ref.session->find_executed(ref.id, last, Session::Wait::no);
  if (const uint32_t over = ref.session->status()) return from_result(over);
  // With blocking streams around, the default stream is known to be done only after a synchronize.
  if (!known) return kNotReady;
  return note_done(*ref.session, ref.id, last), kSuccess;
}
int32_t cudaStreamSynchronize(uint64_t stream) {
  StreamRef ref;
  const Status status = resolve_stream(stream, &ref);
  return status ? status : synchronize(ref);
}

int32_t cudaStreamGetPriority(uint64_t stream, int32_t* priority) {
  if (!priority) return kInvalidValue;
  return read_stream(stream, [&](const Stream& s) { return *priority = s.priority, kSuccess; });
}
int32_t cudaStreamGetFlags(uint64_t stream, uint32_t* flags) {
  if (!flags) return kInvalidValue;
  return read_stream(stream, [&](const Stream& s) { return *flags = s.flags, kSuccess; });
}
int32_t cudaStreamGetDevice(uint64_t stream, int32_t* device) {
  if (!device) return kInvalidValue;
  return read_stream(stream, [&](const Stream& s) { return *device = s.device, kSuccess; });
}
int32_t cuStreamGetCtx(uint64_t stream, uint64_t* context) {
  if (!context) return kInvalidValue;
  return read_stream(stream, [&](const Stream& s) { return *context = context_of(s.device), kSuccess; });
}
int32_t cudaStreamGetId(uint64_t stream, uint64_t* id) {
  if (!id) return kInvalidValue;
  return read_stream(stream, [&](const Stream&) { return *id = stream, kSuccess; });
}
int32_t cudaStreamCopyAttributes(uint64_t dst, uint64_t src) {
  const auto exists = [](const Stream&) { return kSuccess; };
  const Status status = read_stream(dst, exists);
  return status ? status : read_stream(src, exists);
}
int32_t cudaStreamSetAttribute(uint64_t stream, int32_t attribute, const void* value) {
  if (!value) return kInvalidValue;
  return read_stream(stream, [&](const Stream&) { return accept_stream_attribute(attribute); });
}

// A callback runs in the calling thread, after the stream's work and before anything submitted later: the
// same order as on a GPU, at the price of a wait.
int32_t cudaStreamAddCallback(uint64_t stream, void* callback, void* data, uint32_t) {
  if (!callback) return kInvalidValue;
  if (const Status status = cudaStreamSynchronize(stream)) return status;
  reinterpret_cast<Callback>(callback)(stream, kSuccess, data);
  return kSuccess;
}
int32_t cudaLaunchHostFunc(uint64_t stream, void* function, void* data) {
  if (!function) return kInvalidValue;
  if (const Status status = cudaStreamSynchronize(stream)) return status;
  reinterpret_cast<HostFunction>(function)(data);
  return kSuccess;
}

}  // namespace jitc::api
