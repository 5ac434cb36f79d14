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
#include <vector>

#include "device/software/device/issuer.h"
#include "device/software/stream/event_handlers.h"
#include "graphs.h"

namespace jitc::software {

class Captures {
 public:
  using List = std::vector<std::unique_ptr<Capture>>;

  Captures(const Issuer& issuer, const EventHandlers& events) : issuer_(issuer), events_(events) {}
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  bool empty() const { return captures_.empty(); }
  /// Of the op's stream, if it is captured.
  Capture* of(const ops::OpHeader& op) const;

  /// On the op's stream.
  void begin(const ops::OpHeader& op);
  /// The capture that began on the op's stream, which is over now.
  std::unique_ptr<Capture> take(const ops::OpHeader& op);
  /// Ops that mean something else while streams are captured; true: the op is issued.
  bool intercept(const ops::OpHeader& op);
  /// The op cannot be in the graph: so there will be no graph. True: nobody else needs to know.
  bool invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message);
  /// Exactly these.
  void restore(List captures) { captures_ = std::move(captures); }

 private:
  Capture* of_event(uint64_t event) const;
  bool record(const ops::OpHeader& op, uint64_t event);
  bool wait(const ops::OpHeader& op, uint64_t event);
  bool work(const ops::OpHeader& op);
  void refuse_captured(uint64_t event) const;
  void leave(uint64_t stream);

  const Issuer& issuer_;
  const EventHandlers& events_;
  List captures_;
};

}  // namespace jitc::software
