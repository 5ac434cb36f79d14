// Errors that refuse a stream capture, on both devices. Called by: Captures, graphs and their handlers.
#pragma once
#include <cstdint>
#include <string>

#include "device/common/error.h"

namespace jitc::device {

/// Returns the error of an op that has no place in a graph.
inline OpError uncapturable(const std::string& what) {
  return {kStreamCaptureUnsupported, "capture-unsupported", what + " cannot be captured"};
}
inline OpError captured_already() {
  return {kStreamCaptureUnmatched, "capture-unmatched", "the stream is captured already"};
}
inline OpError never_begun() {
  return {kStreamCaptureUnmatched, "capture-unmatched", "no capture has begun on this stream"};
}
inline OpError never_ended() {
  return {kStreamCaptureUnmatched, "capture-unmatched",
          "the graph cannot be made again: its capture never ended"};
}
inline OpError captures_merge() {
  return {kStreamCaptureMerge, "capture-merge", "two captures cannot become one"};
}
inline OpError foreign_event() {
  return {kStreamCaptureIsolation, "capture-isolation",
          "the captured stream waits for an event that was not recorded in the same capture"};
}
inline OpError captured_event() {
  return {kCapturedEvent, "captured-event", "the event was last recorded in a captured stream"};
}
inline OpError graph_in_itself() {
  return {kNotSupported, "graph-in-itself",
          "the graph launches another one that is no more: it cannot be made again"};
}
inline OpError not_made_again(const OpError& why) {
  return {why.status, why.cause, "the graph cannot be made again: " + why.message, why.sticky};
}

/// Refuses flags of cudaGraphInstantiate except automatic freeing and node priorities. Uploading needs a
/// stream that the op does not have; a replay cannot repeat launches from the GPU.
inline void check_instantiate_flags(uint64_t flags) {
  constexpr uint64_t kKnown = 1 | 8;
  if (flags & ~kKnown)
    refuse(kNotSupported, "graph-flags",
           "flags " + hex(flags) + " of cudaGraphInstantiate: only automatic freeing and node priorities");
}

}  // namespace jitc::device
