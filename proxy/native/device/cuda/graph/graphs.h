// Stream capture, graphs and executable graphs of one session.
//
// A capture does not touch the program's streams: streams of its own take their place for as long as it
// lasts, so that marks, queries and other work go on beside it. What is in a graph is therefore nothing but
// the ops themselves, and the same is done again when a graph must be made again (graph_rebuild.h).
// Called by: Device, with its mutex held and the context bound. All may throw OpError.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/common/graph/capture_status.h"
#include "device/cuda/driver/context.h"
#include "device/cuda/driver/error.h"
#include "device/cuda/stream/stream.h"
#include "device/resources.h"

namespace jitc::cuda {

/// A real graph; destroys itself. communicates: NCCL's kernels are in it, and NCCL does not let go of a
/// communicator, not even aborts it, before every graph and executable that uses it is gone.
class Graph {
 public:
  Graph(std::shared_ptr<Context> context, abi::CUgraph real, bool communicates)
      : context_(std::move(context)), real_(real), communicates_(communicates) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  uint64_t nodes() const;
  abi::CUgraph real() const { return real_; }
  bool communicates() const { return communicates_; }

 private:
  const std::shared_ptr<Context> context_;
  const abi::CUgraph real_;
  const bool communicates_;
};

/// A real executable graph; destroys itself.
class Executable {
 public:
  Executable(std::shared_ptr<Context> context, const Graph& graph, uint64_t flags);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  abi::CUgraphExec real() const { return real_; }
  bool communicates() const { return communicates_; }

 private:
  const std::shared_ptr<Context> context_;
  abi::CUgraphExec real_ = nullptr;
  const bool communicates_;
};

/// A capture under way.
class Capture {
 public:
  /// Begins on the stream.
  Capture(std::shared_ptr<Context> context, uint64_t handle, Stream& origin);
  /// Drops what was captured unless end() came first.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  uint64_t origin() const { return origin_; }
  bool has(const Stream& stream) const { return members_.contains(const_cast<Stream*>(&stream)); }
  bool has_event(uint64_t event) const { return events_.contains(event); }
  void record(uint64_t event, const Stream& stream);
  /// The stream waits for an event of this capture, and is part of it from now on.
  void wait(uint64_t event, Stream& stream);
  /// The event was recorded elsewhere, or is no more.
  void forget_event(uint64_t event) { events_.erase(event); }
  /// The stream is no more.
  void forget_stream(Stream& stream);
  /// There can be no graph any more; the first reason counts.
  void invalidate(const OpError& reason);
  /// NCCL's kernels come into the graph.
  void add_collectives() { communicates_ = true; }
  bool communicates() const { return communicates_; }
  /// The graph; throws why there is none. Over in any case.
  std::unique_ptr<Graph> end();
  /// While set aside its streams are the program's own again.
  void set_aside();
  void take_up();

 private:
  class StandIn;
  StandIn& member(Stream& stream);
  abi::CUgraph stop();

  const std::shared_ptr<Context> context_;
  const uint64_t origin_;
  std::map<Stream*, std::unique_ptr<StandIn>> members_;
  std::vector<std::unique_ptr<StandIn>> left_;  // of streams that are no more
  std::unordered_map<uint64_t, std::unique_ptr<Event>> events_;
  StandIn* first_ = nullptr;
  bool communicates_ = false;
  std::optional<OpError> invalid_;
};

/// Graphs and executables by virtual handle. Those without a real one (restore() brought them, or they were
/// let go) are made from their content when they are needed.
class Graphs {
 public:
  struct GraphEntry {
    std::shared_ptr<Graph> real;  // null: to be made from content
    Resources::Captured content;
  };
  struct ExecutableEntry {
    std::shared_ptr<Executable> real;
    Resources::Captured content;
    uint64_t flags = 0;
    bool under_way = false;  // being made: it contains itself
  };
  void add(uint64_t handle, std::shared_ptr<Graph> graph);
  void require_free(uint64_t executable) const;
  void add(uint64_t handle, std::shared_ptr<Executable> executable, uint64_t flags);
  GraphEntry& graph(uint64_t handle);
  ExecutableEntry& executable(uint64_t handle);
  bool has_graph(uint64_t handle) const { return graphs_.contains(handle); }
  void destroy_graph(uint64_t handle);
  void destroy_executable(uint64_t handle);
  /// Exactly these, none of them made yet. At rest only.
  void restore(const Resources& wanted);
  /// Those with NCCL's kernels go, but for their entries. What runs of them goes when it has ended.
  void let_communicating_go();
  /// What let_communicating_go() has left is made of.
  void remember(const Resources& content);
  /// What was destroyed goes. At rest only.
  void commit() { destroyed_.clear(); }

 private:
  std::unordered_map<uint64_t, GraphEntry> graphs_;
  std::unordered_map<uint64_t, ExecutableEntry> executables_;
  std::vector<std::shared_ptr<Executable>> destroyed_;  // may still run
};

}  // namespace jitc::cuda
