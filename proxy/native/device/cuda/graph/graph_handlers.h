// Handlers of captures and graphs: begin and end, instantiate, launch, destroy; their survival of a fence.
// Called by: Device::enqueue through its registry, Device; with its mutex held and the context bound.
#pragma once
#include <memory>
#include <string>

#include "captures.h"
#include "device/common/handlers.h"
#include "graph_rebuild.h"
#include "graphs.h"

namespace jitc::cuda {

class GraphHandlers {
 public:
  /// handlers: those of the device; used once it is open.
  GraphHandlers(Issuer& issuer, RunState& state, Streams& streams, const Events& events, Blas& blas,
                const Handlers& handlers)
      : issuer_(issuer),
        captures_(issuer, streams, events),
        rebuild_(issuer, state, captures_, streams, blas, handlers) {}
  Captures& captures() { return captures_; }

  /// Runs before each op: resumes captures that are due; true: the op has another meaning, and is issued.
  bool take(const ops::OpHeader& op) {
    if (rebuild_.due()) rebuild_.resume();
    return !captures_.empty() && captures_.intercept(op);
  }
  /// Destroys graphs that use a communicator, since NCCL's abort waits for them. They are recreated on
  /// demand: after a roll-back from the content that restore() brings, else from that of remember().
  void let_communicating_go();
  void remember(const Resources& content);
  /// Makes exactly these. Requires an idle device without captures.
  void restore(const Resources& wanted);
  /// Commits. Requires an idle device.
  void commit() { graphs_.commit(); }

 private:
  void begin_capture(const ops::CaptureBegin& op);
  void end_capture(const ops::CaptureEnd& op);
  void destroy(const ops::GraphDestroy& op);
  void instantiate(const ops::GraphInstantiate& op);
  void launch(const ops::GraphLaunch& op);
  void destroy_executable(const ops::ExecutableDestroy& op);
  std::shared_ptr<Executable> executable_of(uint64_t handle);

  Issuer& issuer_;
  Graphs graphs_;
  Captures captures_;
  GraphRebuild rebuild_;

 public:
  using Handled =
      HandlerList<&GraphHandlers::begin_capture, &GraphHandlers::end_capture, &GraphHandlers::destroy,
                  &GraphHandlers::instantiate, &GraphHandlers::launch, &GraphHandlers::destroy_executable>;
};

}  // namespace jitc::cuda
