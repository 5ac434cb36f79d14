// Streams of the program, resolved to where their ops go.
//
// Used by everything that puts an op on a stream or looks at one. Promise: a handle that is no stream gives
// an error and never a crash.
#pragma once
#include "api/common/visible_devices.h"

namespace jitc::api {

/// Handles that are no stream of the program's own: the default stream (0), cudaStreamLegacy,
/// cudaStreamPerThread.
constexpr uint64_t kPerThreadStream = 2;
constexpr bool is_default_stream(uint64_t stream) { return stream <= kPerThreadStream; }

/// A stream as the program has it, resolved: where its ops go.
struct StreamRef {
  Session* session = nullptr;
  uint64_t id = 0;  // op stream
  int device = 0;
};
/// Status of the look-up; the default streams belong to the thread's device.
Status resolve_stream(uint64_t stream, StreamRef* out);
/// As resolve_stream, also for a stream whose capture has become invalid.
Status find_stream(uint64_t stream, StreamRef* out);
/// Waits until the stream has done everything submitted so far.
Status synchronize(const StreamRef& stream);
/// Waits until the GPU has done everything submitted so far, on all streams.
Status wait_for_device(Session& session);
/// Whether there is such a stream, without opening a session.
bool is_known_stream(uint64_t stream);
/// Whether the stream and the default stream wait for each other.
bool is_blocking(uint64_t stream);
/// Whether no other stream's work comes before its next work but by events.
bool is_ordered_alone(uint64_t stream);

/// Gives work on a GPU's memory to a stream. Where the stream is another GPU's, the work goes to the default
/// stream of the memory's GPU, and has its place in the given stream by waiting before and after.
template <class Give>
Status give_beside_memory(Session* owner, const StreamRef& stream, Give&& give) {
  if (stream.session == owner) return give(stream);
  if (const Status status = synchronize(stream)) return status;
  const StreamRef there{owner, 0, device_of(owner)};
  const Status status = give(there);
  return status ? status : synchronize(there);
}

/// An op to be put on that op stream.
template <class Op>
Op on_stream(uint64_t stream) {
  Op op;
  op.header.stream = stream;
  return op;
}

}  // namespace jitc::api
