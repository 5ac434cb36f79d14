// Stream capture, graphs and executable graphs of one session.
//
// A capture does not touch the program's streams: streams of its own replace them while it lasts, so that
// marks, queries and other work continue beside it. A graph therefore contains only the ops themselves, and
// recreating it repeats the capture (graph_rebuild.h).
// Called by: Device, with its mutex held and the context bound. All functions may throw OpError.
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

/// Real graph; destroys itself. communicates: it contains NCCL's kernels, and NCCL neither releases nor
/// aborts a communicator before every graph and executable that uses it is destroyed.
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

/// Real executable graph; destroys itself.
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

/// Capture in progress.
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
  /// Makes the stream, which waits for an event of this capture, part of it.
  void wait(uint64_t event, Stream& stream);
  /// Forgets the event: it was recorded elsewhere, or destroyed.
  void forget_event(uint64_t event) { events_.erase(event); }
  /// Forgets a destroyed stream.
  void forget_stream(Stream& stream);
  /// Invalidates the capture: it cannot give a graph any more; the first reason counts.
  void invalidate(const OpError& reason);
  /// Notes that NCCL's kernels enter the graph.
  void add_collectives() { communicates_ = true; }
  bool communicates() const { return communicates_; }
  /// Ends the capture in any case and returns the graph; throws if there is none.
  std::unique_ptr<Graph> end();
  /// Gives the streams back to the program while the capture is set aside.
  void set_aside();
  void take_up();

 private:
  class StandIn;
  StandIn& member(Stream& stream);
  abi::CUgraph stop();

  const std::shared_ptr<Context> context_;
  const uint64_t origin_;
  std::map<Stream*, std::unique_ptr<StandIn>> members_;
  std::vector<std::unique_ptr<StandIn>> left_;  // of destroyed streams
  std::unordered_map<uint64_t, std::unique_ptr<Event>> events_;
  StandIn* first_ = nullptr;
  bool communicates_ = false;
  std::optional<OpError> invalid_;
};

/// Graphs and executables by virtual handle. Those without a real one (brought by restore(), or released) are
/// made from their content on demand.
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
    bool under_way = false;  // being made: then it contains itself
  };
  void add(uint64_t handle, std::shared_ptr<Graph> graph);
  void require_free(uint64_t executable) const;
  void add(uint64_t handle, std::shared_ptr<Executable> executable, uint64_t flags);
  GraphEntry& graph(uint64_t handle);
  ExecutableEntry& executable(uint64_t handle);
  bool has_graph(uint64_t handle) const { return graphs_.contains(handle); }
  void destroy_graph(uint64_t handle);
  void destroy_executable(uint64_t handle);
  /// Enters exactly these, none of them made yet. Requires an idle device.
  void restore(const Resources& wanted);
  /// Destroys those with NCCL's kernels, except for their entries. Running ones are destroyed at their end.
  void let_communicating_go();
  /// Supplies the content of those that let_communicating_go() destroyed.
  void remember(const Resources& content);
  /// Destroys what the program destroyed. Requires an idle device.
  void commit() { destroyed_.clear(); }

 private:
  std::unordered_map<uint64_t, GraphEntry> graphs_;
  std::unordered_map<uint64_t, ExecutableEntry> executables_;
  std::vector<std::shared_ptr<Executable>> destroyed_;  // may still run
};

}  // namespace jitc::cuda
