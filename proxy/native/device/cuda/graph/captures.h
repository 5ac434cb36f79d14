// Captures in progress, and the ops that have another meaning because of them.
//
// An op that has no place in a graph invalidates the capture: an op that waits is answered with the reason at
// once, and the capture's end always is. Lock rule: the device's mutex, the context bound. A refused op
// throws OpError. Called by: Device before each op, GraphHandlers, CollectiveHandlers.
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

  /// Returns the capture of the stream, if any.
  Capture* of(const Stream& stream) const;
  /// Returns the capture of the op's stream, if any.
  Capture* of(const ops::OpHeader& op) const;

  /// Begins a capture on the op's stream.
  void begin(const ops::OpHeader& op);
  /// Invalidates the capture: the op cannot be in its graph. True: the op needs no other report.
  bool invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message);

  void clear() { captures_.clear(); }
  /// Drops captures that contain NCCL kernels: their communicator cannot be destroyed before.
  void drop_communicating();
  /// Removes all captures until they are resumed; their streams are the program's own meanwhile.
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
