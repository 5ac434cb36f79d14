// Streams of the program, resolved to the op streams of their ops.
//
// Used by everything that puts an op on a stream or examines one. Promise: a handle that is no stream gives
// an error and never a crash.
#pragma once
#include "api/common/visible_devices.h"

namespace jitc::api {

/// Handles that are not the program's own streams: the default stream (0), cudaStreamLegacy,
/// cudaStreamPerThread.
constexpr uint64_t kPerThreadStream = 2;
constexpr bool is_default_stream(uint64_t stream) { return stream <= kPerThreadStream; }

/// Stream of the program, resolved to the destination of its ops.
struct StreamRef {
  Session* session = nullptr;
  uint64_t id = 0;  // op stream
  int device = 0;
};
/// Resolves a stream and returns the status; the default streams belong to the thread's device.
Status resolve_stream(uint64_t stream, StreamRef* out);
/// Resolves likewise, also a stream whose capture has become invalid.
Status find_stream(uint64_t stream, StreamRef* out);
/// Waits until the stream has done everything submitted so far.
Status synchronize(const StreamRef& stream);
/// Waits until the GPU has done everything submitted so far, on all streams.
Status wait_for_device(Session& session);
/// Returns whether there is such a stream, without opening a session.
bool is_known_stream(uint64_t stream);
/// Returns whether the stream and the default stream wait for each other.
bool is_blocking(uint64_t stream);
/// Returns whether only events order other streams' work before its next work.
bool is_ordered_alone(uint64_t stream);

/// Submits work on a GPU's memory to a stream. If that is another GPU's, the work goes to the default stream
/// of the memory's GPU, and keeps its place in the given stream by waiting before and after.
template <class Give>
Status give_beside_memory(Session* owner, const StreamRef& stream, Give&& give) {
  if (stream.session == owner) return give(stream);
  if (const Status status = synchronize(stream)) return status;
  const StreamRef there{owner, 0, device_of(owner)};
  const Status status = give(there);
  return status ? status : synchronize(there);
}

/// Returns an op to be put on that op stream.
template <class Op>
Op on_stream(uint64_t stream) {
  Op op;
  op.header.stream = stream;
  return op;
}

}  // namespace jitc::api
