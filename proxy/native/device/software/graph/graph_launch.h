// One launch of a graph: its ops, one after the other, as a single task of the launch's stream.
//
// They get the launch's sequence and stream, so that each sees memory as the launch does, and progress passes
// all of them at once. Order on communicators is taken when the launch is given, as for collectives by
// themselves. Called by: GraphHandlers (constructor, with the device's mutex held), the stream's thread
// (run).
#pragma once
#include <cstddef>
#include <vector>

#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"
#include "graphs.h"

namespace jitc::software {

class GraphLaunch {
 public:
  /// Has the handlers of its ops collect their work. Throws OpError.
  GraphLaunch(const ops::OpHeader& launch, const Graph& graph, Stream& stream, Issuer& issuer,
              const TaskRunner& runner, const Handlers& handlers);
  GraphLaunch(const GraphLaunch&) = delete;
  GraphLaunch& operator=(const GraphLaunch&) = delete;
  /// Throws OpError, or Abandoned after a fence or fault.
  void run();

 private:
  Stream& stream_;
  const TaskRunner& runner_;
  std::vector<std::byte> records_;  // of its ops, as they are in this launch
  std::vector<Issuer::Collected> work_;
};

}  // namespace jitc::software
