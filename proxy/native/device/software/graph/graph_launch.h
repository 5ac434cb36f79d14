// Launch of a graph: its ops, one after the other, as a single task of the launch's stream.
//
// The ops get the launch's sequence and stream, so that each sees memory as the launch does, and progress
// passes all of them at once. Order on communicators is fixed when the launch is submitted, as for separate
// collectives. Called by: GraphHandlers (constructor, with the device's mutex held), the stream's thread
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
  /// Makes the handlers of its ops collect their work. Throws OpError.
  GraphLaunch(const ops::OpHeader& launch, const Graph& graph, Stream& stream, Issuer& issuer,
              const TaskRunner& runner, const Handlers& handlers);
  GraphLaunch(const GraphLaunch&) = delete;
  GraphLaunch& operator=(const GraphLaunch&) = delete;
  /// Runs the collected work. Throws OpError, or Abandoned after a fence or fault.
  void run();

 private:
  Stream& stream_;
  const TaskRunner& runner_;
  std::vector<std::byte> records_;  // of its ops, adapted to this launch
  std::vector<Issuer::Collected> work_;
};

}  // namespace jitc::software
