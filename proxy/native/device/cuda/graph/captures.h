// The captures under way, and the ops that mean something else because of them.
//
// An op that has no place in a graph invalidates the capture: an op that waits is answered with the reason at
// once, and the capture's end is in any case.
// Lock rule: the device's mutex, the context bound. What may not succeed throws OpError. Called by: Device
// before each op, GraphHandlers, CollectiveHandlers.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/common/graph/capture_list.h"
#include "device/cuda/issue/issuer.h"
#include "device/cuda/stream/events.h"
#include "graphs.h"

namespace jitc::cuda {

class Captures : public device::CaptureList<Captures, Capture> {
 public:
  Captures(const Issuer& issuer, Streams& streams, const Events& events)
      : issuer_(issuer), streams_(streams), events_(events) {}
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  /// Of the stream, if it is captured.
  Capture* of(const Stream& stream) const;
  /// Of the op's stream, if it is captured.
  Capture* of(const ops::OpHeader& op) const;

  /// On the op's stream.
  void begin(const ops::OpHeader& op);
  /// The op cannot be in the graph: so there will be no graph. True: nobody else needs to know.
  bool invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message);

  void clear() { captures_.clear(); }
  /// Those with NCCL's kernels, whose communicator cannot end before.
  void drop_communicating();
  /// All are out of sight, their streams the program's own, until they are taken up.
  List set_aside();
  void take_up(List aside);

 private:
  friend CaptureList;
  bool record(const ops::OpHeader& op, uint64_t event);
  bool wait(const ops::OpHeader& op, uint64_t event);
  static bool work(const ops::OpHeader&) { return false; }  // the driver captures it
  void leave(uint64_t stream);

  const Issuer& issuer_;
  Streams& streams_;
  const Events& events_;
};

}  // namespace jitc::cuda
