// Handlers of captures and graphs: begin and end, instantiate, launch, destroy.
// Called by: Device::enqueue through its registry, Device; with its mutex held.
#pragma once
#include "captures.h"
#include "device/common/handlers.h"
#include "graphs.h"

namespace jitc::software {

class GraphHandlers {
 public:
  /// handlers: those of the device; used once it is open.
  GraphHandlers(Issuer& issuer, Streams& streams, const TaskRunner& runner, const EventHandlers& events,
                const Handlers& handlers)
      : issuer_(issuer), streams_(streams), runner_(runner), handlers_(handlers), captures_(issuer, events) {}
  Captures& captures() { return captures_; }

  /// Runs before each op; true: the op has another meaning, and is issued.
  bool take(const ops::OpHeader& op) { return !captures_.empty() && captures_.intercept(op); }
  /// Makes exactly these. Requires empty queues.
  void restore(const Resources& wanted);

 private:
  void begin_capture(const ops::CaptureBegin& op);
  void end_capture(const ops::CaptureEnd& op);
  void destroy(const ops::GraphDestroy& op);
  void instantiate(const ops::GraphInstantiate& op);
  void launch(const ops::GraphLaunch& op);
  void destroy_executable(const ops::ExecutableDestroy& op);
  GraphPointer graph_of(uint64_t graph);
  GraphPointer graph_of_executable(uint64_t executable);

  Issuer& issuer_;
  Streams& streams_;
  const TaskRunner& runner_;
  const Handlers& handlers_;
  Graphs graphs_;
  Captures captures_;

 public:
  using Handled =
      HandlerList<&GraphHandlers::begin_capture, &GraphHandlers::end_capture, &GraphHandlers::destroy,
                  &GraphHandlers::instantiate, &GraphHandlers::launch, &GraphHandlers::destroy_executable>;
};

}  // namespace jitc::software
