// Captures and graphs: begun and ended, instantiated, launched, destroyed; what of them outlives a fence.
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
  /// handlers: of the device; used once it is open.
  GraphHandlers(Issuer& issuer, RunState& state, Streams& streams, const Events& events, Blas& blas,
                const Handlers& handlers)
      : issuer_(issuer),
        captures_(issuer, streams, events),
        rebuild_(issuer, state, captures_, streams, blas, handlers) {}
  Captures& captures() { return captures_; }

  /// Before each op: captures that are to go on do; true: the op means something else, and is issued.
  bool take(const ops::OpHeader& op) {
    if (rebuild_.due()) rebuild_.resume();
    return !captures_.empty() && captures_.intercept(op);
  }
  /// NCCL's abort waits for every graph of a communicator. They are made again when they are needed: after a
  /// roll-back from what restore() brings, else from what remember() brings.
  void let_communicating_go();
  void remember(const Resources& content);
  /// Exactly these. At rest only, without captures.
  void restore(const Resources& wanted);
  /// At rest only.
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
