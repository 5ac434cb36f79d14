// Recreates graphs from their ops: a graph that a rebuild lost, at its first use; captures that were in
// progress, before the next op.
//
// Their ops are issued again, into a capture, without being reported. Lock rule: the device's mutex, the
// context bound. All functions but due() throw OpError. Called by: GraphHandlers.
#pragma once
#include <memory>
#include <vector>

#include "captures.h"
#include "device/common/handlers.h"
#include "device/cuda/blas/blas.h"

namespace jitc::cuda {

class GraphRebuild {
 public:
  /// handlers: those of the device; used once it is open.
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
  /// Sets the captures to resume before the next op.
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
