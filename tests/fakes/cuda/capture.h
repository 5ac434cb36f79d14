// Stream capture: work that is recorded into a graph and not run. Who may capture what, and what makes a
// capture invalid, follows the CUDA driver's documentation. All functions: with Driver::mutex held.
#pragma once
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "context.h"

namespace jitc::fakes {

enum CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

struct Node {
  uint64_t handle;
  const char* what;
  Body body;
  std::vector<size_t> after;
};

/// Recorded work; each node stands behind those that it waits for. kept: given back when the graph and all
/// that was made of it are gone (CUDA's user objects).
struct Graph {
  const Context* context;
  std::vector<Node> nodes;
  std::vector<std::shared_ptr<void>> kept{};
};

class Capture {
 public:
  Capture(Stream& origin, int mode);
  /// Throws kCaptureInvalidated.
  void add(Stream& stream, const char* what, Body body);
  /// The stream's next work comes after these nodes too.
  void join(Stream& stream, const std::vector<size_t>& after);
  /// Takes every stream out of the capture. Throws why there is no graph.
  std::shared_ptr<Graph> end(Stream& stream);
  bool holds(const Context& context, bool blocking_only) const;

  const uint64_t id;
  const int mode;
  const std::thread::id thread;
  bool invalid = false, over = false;
  uint64_t graph_handle = 0;
  const std::shared_ptr<Graph> graph;
  std::map<StreamPointer, std::vector<size_t>> tails;

 private:
  int why_not(const Stream& stream) const;
  bool joined() const;
  const StreamPointer origin_;
};

void begin_capture(Stream& stream, int mode);
void invalidate(const std::shared_ptr<Capture>& capture);
/// For synchronizing and querying calls on a stream that captures.
void refuse_if_capturing(const Stream& stream);
/// For work on the legacy default stream, which blocking streams would wait for.
void refuse_implicit_dependency(const Context& context, bool invalidates);
/// For calls that cannot be captured and may depend on it; an error code or 0.
int refused_by_capture();
void wait_event(Stream& stream, const Event& event);
/// The captures and graphs of a context that is no more.
void forget_captures(const Context& context);
void forget_graphs(const Context& context);
/// The calling thread's mode (cuThreadExchangeStreamCaptureMode).
int& thread_capture_mode();

}  // namespace jitc::fakes
