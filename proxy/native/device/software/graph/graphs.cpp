// See graphs.h.
#include "graphs.h"

#include <algorithm>
#include <utility>

namespace jitc::software {
namespace {
constexpr uint64_t kMostBytes = 256u << 20;  // as for a capture without inner graphs
}

Graph::Graph(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  for (const Node& node : nodes_) {
    bytes_ += node.inner ? node.inner->bytes() + sizeof node : node.record.size();
    if (bytes_ > kMostBytes)
      refuse(kNotSupported, "capture-too-large",
             "a graph of more than 256 MiB of ops, with the graphs inside it");
  }
}

// -- capture -------------------------------------------------------------------------------------------

void Capture::add(const ops::OpHeader& op) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&op);
  ++streams_.at(op.stream)[op.stream];
  nodes_.push_back({{begin, begin + op.size}, nullptr});
}

void Capture::add(uint64_t stream, GraphPointer inner) {
  ++streams_.at(stream)[stream];
  nodes_.push_back({{}, std::move(inner)});
}

void Capture::wait(uint64_t event, uint64_t stream) {
  Seen& seen = streams_[stream];
  for (const auto& [other, count] : events_.at(event)) {
    uint64_t& known = seen[other];
    known = std::max(known, count);
  }
}

void Capture::invalidate(const OpError& reason) {
  if (!invalid_) invalid_ = reason;
}

/// Ends the capture. All work of its streams must have been joined with the first of them.
GraphPointer Capture::end() {
  if (invalid_) throw *invalid_;
  const auto count = [](const Seen& seen, uint64_t stream) {
    const auto found = seen.find(stream);
    return found == seen.end() ? 0 : found->second;
  };
  const Seen& last = streams_.at(origin_);
  for (const auto& [stream, seen] : streams_)
    if (count(seen, stream) > count(last, stream))
      refuse(kStreamCaptureUnjoined, "capture-unjoined",
             "work of stream " + hex(stream) + " was not joined with the stream that the capture began on");
  return std::make_shared<const Graph>(std::move(nodes_));
}

// -- by handle -----------------------------------------------------------------------------------------

void Graphs::add(uint64_t handle, GraphPointer graph) {
  if (!graphs_.try_emplace(handle, GraphEntry{std::move(graph), nullptr}).second)
    refuse_handle("graph " + hex(handle) + " exists already");
}

void Graphs::add_executable(uint64_t handle, GraphPointer graph) {
  if (!executables_.try_emplace(handle, ExecutableEntry{std::move(graph), nullptr}).second)
    refuse_handle("executable graph " + hex(handle) + " exists already");
}

Graphs::GraphEntry& Graphs::graph(uint64_t handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) refuse_handle("graph " + hex(handle) + " does not exist");
  return found->second;
}

Graphs::ExecutableEntry& Graphs::executable(uint64_t handle) {
  const auto found = executables_.find(handle);
  if (found == executables_.end()) refuse_handle("executable graph " + hex(handle) + " does not exist");
  return found->second;
}

void Graphs::destroy_graph(uint64_t handle) {
  graph(handle);
  graphs_.erase(handle);
}

/// Destroys an executable. A launch in flight has what it needs.
void Graphs::destroy_executable(uint64_t handle) {
  executable(handle);
  executables_.erase(handle);
}

void Graphs::restore(const Resources& wanted) {
  graphs_.clear();
  executables_.clear();
  for (const auto& one : wanted.graphs) graphs_[one.handle] = {nullptr, one.ops};
  for (const auto& one : wanted.executables) executables_[one.handle] = {nullptr, one.ops};
}

}  // namespace jitc::software
