// Captures in progress, and the ops that have another meaning because of them.
//
// Work of a captured stream becomes part of the graph and is not done; progress passes it. An op that has no
// place in a graph invalidates the capture: an op that waits is answered with the reason at once, and the
// capture's end always is.
// Lock rule: the device's mutex. A refused op throws OpError. Called by: Device before each op,
// GraphHandlers.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "device/common/graph/capture_list.h"
#include "device/software/handlers/event_handlers.h"
#include "device/software/issue/issuer.h"
#include "graphs.h"

namespace jitc::software {

class Captures : public device::CaptureList<Captures, Capture> {
 public:
  Captures(const Issuer& issuer, const EventHandlers& events) : issuer_(issuer), events_(events) {}
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  /// Returns the capture of the op's stream, if any.
  Capture* of(const ops::OpHeader& op) const;

  /// Begins a capture on the op's stream.
  void begin(const ops::OpHeader& op);
  /// Invalidates the capture: the op cannot be in its graph. True: the op needs no other report.
  bool invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message);
  /// Replaces all captures by these.
  void restore(List captures) { captures_ = std::move(captures); }

 private:
  friend CaptureList;
  bool record(const ops::OpHeader& op, uint64_t event);
  bool wait(const ops::OpHeader& op, uint64_t event);
  bool work(const ops::OpHeader& op);
  void leave(uint64_t stream);

  const Issuer& issuer_;
  const EventHandlers& events_;
};

}  // namespace jitc::software
