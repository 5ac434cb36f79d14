// Stream capture: the captured streams, and the calls that are not allowed meanwhile.
//
// Used by graph.cpp (begin and end), stream.cpp, event.cpp, copy.cpp, memory.cpp, client_api.cpp. Promises:
// without a capture, every function here costs one load; a call that a device would refuse in a capture is
// refused here with the same error, and makes the capture invalid.
#pragma once
#include "stream.h"

namespace jitc::api {

enum CaptureStatus : int32_t { kNotCapturing = 0, kCapturing = 1, kInvalidCapture = 2 };

/// Capture as one of its streams sees it; id 0: the stream is not being captured.
struct CaptureView {
  uint64_t id = 0, origin = 0;
  int32_t mode = 0;
  bool invalid = false, same_thread = false;
};

CaptureView capture_of(const StreamRef& stream);
bool any_capture(const Session& session);
/// Begins a capture. blocking: the stream waits for the default stream and the other way round.
void begin_capture(const StreamRef& origin, int32_t mode, bool blocking);
void end_capture(uint64_t id);
/// Makes a stream that waits for an event of that capture part of it.
Status join_capture(const StreamRef& stream, uint64_t id, bool blocking);
void invalidate_capture(uint64_t id);

/// Returns kSuccess, or why nothing may be put on the stream; call it before doing so.
Status check_capture(const StreamRef& stream);
/// Refuses a call that a capture cannot contain, giving the reason once; kSuccess if not captured.
Status refuse_in_capture(const StreamRef& stream, const char* why);
/// Does the same for a call that concerns all streams of a GPU.
Status refuse_in_any_capture(const Session& session, const char* why);

}  // namespace jitc::api
