// Recreates graphs from their ops: one that a rebuild lost, at its first use; captures that were in progress,
// at once.
//
// Lock rule: the device's mutex. Throws OpError where it says so. Called by: GraphHandlers.
#pragma once
#include <functional>
#include <memory>

#include "graphs.h"

namespace jitc::software {

/// Function that returns the graph of an executable that a capture has launched; throws OpError.
using FindGraph = std::function<GraphPointer(uint64_t executable)>;

/// Recreates a graph. Throws OpError.
GraphPointer make_again(const Resources::Content& content, const FindGraph& find);
/// Resumes a capture; use of graphs that no longer exist makes it invalid.
std::unique_ptr<Capture> resume(const Resources::Capture& open, const FindGraph& find);

}  // namespace jitc::software
