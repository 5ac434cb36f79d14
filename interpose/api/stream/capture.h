// Stream capture: which streams are being captured, and what is not allowed meanwhile.
//
// Used by graph.cpp (begin and end), stream.cpp, event.cpp, copy.cpp, memory.cpp, client_api.cpp. Promises:
// while nothing is captured, every function here costs one load; a call that a device would refuse in a
// capture is refused here with the same error, and makes the capture invalid.
#pragma once
#include "stream.h"

namespace jitc::api {

inline constexpr Status kCaptureUnsupported = 900, kCaptureInvalidated = 901, kCaptureMerge = 902,
                        kCaptureUnmatched = 903, kCaptureIsolation = 905, kCaptureImplicit = 906,
                        kCapturedEvent = 907, kCaptureWrongThread = 908;
enum CaptureStatus : int32_t { kNotCapturing = 0, kCapturing = 1, kInvalidCapture = 2 };

/// A capture as one of its streams sees it; id 0: the stream is not being captured.
struct CaptureView {
  uint64_t id = 0, origin = 0;
  int32_t mode = 0;
  bool invalid = false, same_thread = false;
};

CaptureView capture_of(const StreamRef& stream);
bool any_capture(const Session& session);
/// blocking: the stream waits for the default stream and the other way round.
void begin_capture(const StreamRef& origin, int32_t mode, bool blocking);
void end_capture(uint64_t id);
/// For a stream that waits for an event of that capture: makes the stream part of it.
Status join_capture(const StreamRef& stream, uint64_t id, bool blocking);
void invalidate_capture(uint64_t id);

/// To be called before anything is put on the stream: kSuccess, or why that is not allowed.
Status check_capture(const StreamRef& stream);
/// For a call that a capture cannot contain: kSuccess if the stream is not being captured. Says why, once.
Status refuse_in_capture(const StreamRef& stream, const char* why);
/// The same for a call that concerns all streams of a GPU.
Status refuse_in_any_capture(const Session& session, const char* why);

}  // namespace jitc::api
