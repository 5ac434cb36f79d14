// Graphs made again from their ops: a graph that a rebuild lost, when it is needed first; captures that were
// under way, before the next op.
//
// Their ops are issued once more, into a capture. Nobody is told of them.
// Lock rule: the device's mutex, the context bound. All throw OpError but due(). Called by: GraphHandlers.
#pragma once
#include <memory>
#include <vector>

#include "captures.h"
#include "device/common/handlers.h"
#include "device/cuda/blas/blas.h"

namespace jitc::cuda {

class GraphRebuild {
 public:
  /// handlers: of the device; used once it is open.
  GraphRebuild(Issuer& issuer, RunState& state, Captures& captures, Streams& streams, Blas& blas,
               const Handlers& handlers)
      : issuer_(issuer),
        state_(state),
        captures_(captures),
        streams_(streams),
        blas_(blas),
        handlers_(handlers) {}
  GraphRebuild(const GraphRebuild&) = delete;
  GraphRebuild& operator=(const GraphRebuild&) = delete;

  std::shared_ptr<Graph> make(const Resources::Content& content);
  /// Captures that are to go on before the next op.
  void set_open(std::vector<Resources::Capture> open) { open_ = std::move(open); }
  bool due() const { return !open_.empty(); }
  void resume();

 private:
  class Scope;
  void issue(const ops::OpHeader& op);

  Issuer& issuer_;
  RunState& state_;
  Captures& captures_;
  Streams& streams_;
  Blas& blas_;
  const Handlers& handlers_;
  std::vector<Resources::Capture> open_;
};

}  // namespace jitc::cuda
