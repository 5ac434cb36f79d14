// The captures under way, and the ops that mean something else because of them.
//
// Work of a captured stream becomes part of the graph and is not done; progress passes it. An op that has no
// place in a graph invalidates the capture: an op that waits is answered with the reason at once, and the
// capture's end is in any case.
// Lock rule: the device's mutex. What may not succeed throws OpError. Called by: Device before each op,
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

  /// Of the op's stream, if it is captured.
  Capture* of(const ops::OpHeader& op) const;

  /// On the op's stream.
  void begin(const ops::OpHeader& op);
  /// The op cannot be in the graph: so there will be no graph. True: nobody else needs to know.
  bool invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message);
  /// Exactly these.
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
