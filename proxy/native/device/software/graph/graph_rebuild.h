// Graphs made again from their ops: one that a rebuild lost, when it is needed first; captures that were
// under way, at once.
//
// Lock rule: the device's mutex. Throws OpError where it says so. Called by: GraphHandlers.
#pragma once
#include <functional>
#include <memory>

#include "graphs.h"

namespace jitc::software {

/// The graph of an executable that a capture has launched; throws OpError.
using FindGraph = std::function<GraphPointer(uint64_t executable)>;

/// Throws OpError.
GraphPointer make_again(const Resources::Content& content, const FindGraph& find);
/// A capture that goes on from where it was; what it has of graphs that are no more makes it invalid.
std::unique_ptr<Capture> resume(const Resources::Capture& open, const FindGraph& find);

}  // namespace jitc::software
