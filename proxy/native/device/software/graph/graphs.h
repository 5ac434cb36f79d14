// Stream capture, graphs and executable graphs of one session.
//
// A graph is the list of its ops, as the original records, in the order in which they were captured, which
// its dependencies allow. What a capture's streams and events have seen of each other is kept only to decide
// whether all its work was joined. The same list recreates a graph after a rebuild (graph_rebuild.h).
// Lock rule: the device's mutex; a Graph never changes. Called by: GraphHandlers, Captures, GraphRebuild.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/common/graph/capture_status.h"
#include "device/resources.h"
#include "device/software/errors/error.h"
#include "device/software/stream/stream.h"

namespace jitc::software {

class Graph {
 public:
  /// Op, or a graph that was launched inside this one.
  struct Node {
    std::vector<std::byte> record;
    std::shared_ptr<const Graph> inner;
  };
  /// Makes a graph. Throws OpError if it is too large, including the graphs inside it.
  explicit Graph(std::vector<Node> nodes);
  uint64_t nodes() const { return nodes_.size(); }
  /// Returns the bytes of all records, also those of inner graphs, and a little for each of these.
  uint64_t bytes() const { return bytes_; }
  /// Calls use(record) for each op, including those of inner graphs in place.
  template <class Use>
  void for_each(Use&& use) const {
    for (const Node& node : nodes_)
      if (node.inner)
        node.inner->for_each(use);
      else
        use(node.record);
  }

 private:
  const std::vector<Node> nodes_;
  uint64_t bytes_ = 0;
};
using GraphPointer = std::shared_ptr<const Graph>;

/// Capture in progress. Its streams are identified by handle.
class Capture {
 public:
  explicit Capture(uint64_t origin) : origin_(origin) { streams_[origin]; }
  uint64_t origin() const { return origin_; }
  bool has(uint64_t stream) const { return streams_.contains(stream); }
  bool has_event(uint64_t event) const { return events_.contains(event); }

  /// Adds work of one of its streams.
  void add(const ops::OpHeader& op);
  void add(uint64_t stream, GraphPointer inner);
  void record(uint64_t event, uint64_t stream) { events_[event] = streams_.at(stream); }
  /// Makes the stream, which waits for an event of this capture, part of it.
  void wait(uint64_t event, uint64_t stream);
  /// Forgets the event: it was recorded elsewhere, or destroyed.
  void forget_event(uint64_t event) { events_.erase(event); }
  /// Forgets a destroyed stream.
  void forget_stream(uint64_t stream) { streams_.erase(stream); }
  /// Invalidates the capture: it cannot give a graph any more; the first reason counts.
  void invalidate(const OpError& reason);
  /// Ends the capture in any case and returns the graph; throws if there is none.
  GraphPointer end();

 private:
  /// Number of ops of each stream before a point of the capture.
  using Seen = std::map<uint64_t, uint64_t>;

  const uint64_t origin_;
  std::map<uint64_t, Seen> streams_;
  std::unordered_map<uint64_t, Seen> events_;
  std::vector<Graph::Node> nodes_;
  std::optional<OpError> invalid_;
};

/// Graphs and executables by virtual handle. Those that restore() brought are made from their content on
/// demand. All functions throw OpError.
class Graphs {
 public:
  struct GraphEntry {
    GraphPointer real;  // null: to be made from content
    Resources::Captured content;
  };
  struct ExecutableEntry {
    GraphPointer real;
    Resources::Captured content;
    std::optional<After> latest =
        std::nullopt;        // its launch: launches of one executable go one after another
    bool under_way = false;  // being made: it contains itself
  };
  void add(uint64_t handle, GraphPointer graph);
  void add_executable(uint64_t handle, GraphPointer graph);
  GraphEntry& graph(uint64_t handle);
  ExecutableEntry& executable(uint64_t handle);
  void destroy_graph(uint64_t handle);
  void destroy_executable(uint64_t handle);
  /// Enters exactly these, none of them made yet.
  void restore(const Resources& wanted);

 private:
  std::unordered_map<uint64_t, GraphEntry> graphs_;
  std::unordered_map<uint64_t, ExecutableEntry> executables_;
};

}  // namespace jitc::software
