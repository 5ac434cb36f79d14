// See graphs.h.
#include "graphs.h"

#include <algorithm>

namespace jitc::cuda {

Graph::~Graph() {
  if (context_->bind() == 0) context_->driver().cuGraphDestroy(real_);
}

uint64_t Graph::nodes() const {
  size_t count = 0;
  const Driver& driver = context_->driver();
  check(driver, "cuGraphGetNodes", driver.cuGraphGetNodes(real_, nullptr, &count));
  return count;
}

Executable::Executable(std::shared_ptr<Context> context, const Graph& graph, uint64_t flags)
    : context_(std::move(context)), communicates_(graph.communicates()) {
  check_instantiate_flags(flags);
  const Driver& driver = context_->driver();
  check(driver, "cuGraphInstantiateWithFlags",
        driver.cuGraphInstantiateWithFlags(&real_, graph.real(), flags));
}

Executable::~Executable() {
  if (real_ && context_->bind() == 0) context_->driver().cuGraphExecDestroy(real_);
}

// -- capture -------------------------------------------------------------------------------------------

/// Stand-in for one of the program's streams.
class Capture::StandIn {
 public:
  StandIn(std::shared_ptr<Context> context, Stream& stream) : context_(std::move(context)) {
    const Driver& driver = context_->driver();
    check(driver, "cuStreamCreateWithPriority",
          driver.cuStreamCreateWithPriority(&real_, abi::kStreamNonBlocking, stream.priority()));
    stream.divert(real_);
  }
  ~StandIn() {
    if (context_->bind() == 0) context_->driver().cuStreamDestroy(real_);
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  abi::CUstream real() const { return real_; }

 private:
  const std::shared_ptr<Context> context_;
  abi::CUstream real_ = nullptr;
};

/// Begins in relaxed mode, for any mode of the program: its own runtime has refused forbidden calls, and the
/// device's own calls are no part of the program.
Capture::Capture(std::shared_ptr<Context> context, uint64_t handle, Stream& origin)
    : context_(std::move(context)), origin_(handle) {
  first_ = &member(origin);
  const Driver& driver = context_->driver();
  const auto status = driver.cuStreamBeginCapture(first_->real(), abi::kCaptureModeRelaxed);
  if (status == 0) return;
  origin.divert(nullptr);
  throw error_of(driver, "cuStreamBeginCapture", status);
}

Capture::~Capture() {
  if (first_ && context_->bind() == 0)
    if (const abi::CUgraph graph = stop()) context_->driver().cuGraphDestroy(graph);
  set_aside();
}

Capture::StandIn& Capture::member(Stream& stream) {
  const auto found = members_.find(&stream);
  if (found != members_.end()) return *found->second;
  return *members_.emplace(&stream, std::make_unique<StandIn>(context_, stream)).first->second;
}

void Capture::record(uint64_t event, const Stream& stream) {
  auto& made = events_[event];
  if (!made) made = std::make_unique<Event>(context_, abi::kEventDisableTiming);
  const Driver& driver = context_->driver();
  check(driver, "cuEventRecord", driver.cuEventRecord(made->real(), stream.real()));
}

void Capture::wait(uint64_t event, Stream& stream) {
  const abi::CUstream into = member(stream).real();
  const Driver& driver = context_->driver();
  check(driver, "cuStreamWaitEvent", driver.cuStreamWaitEvent(into, events_.at(event)->real(), 0));
}

void Capture::forget_stream(Stream& stream) {
  const auto found = members_.find(&stream);
  if (found == members_.end()) return;
  stream.divert(nullptr);
  left_.push_back(std::move(found->second));
  members_.erase(found);
}

void Capture::invalidate(const OpError& reason) {
  if (!invalid_) invalid_ = reason;
}

/// Ends it with the driver and returns the graph, or null if the driver gives none.
abi::CUgraph Capture::stop() {
  abi::CUgraph graph = nullptr;
  const Driver& driver = context_->driver();
  const auto status = driver.cuStreamEndCapture(first_->real(), &graph);
  first_ = nullptr;
  set_aside();
  if (status == 0) return graph;
  invalidate(error_of(driver, "cuStreamEndCapture", status));
  return nullptr;
}

std::unique_ptr<Graph> Capture::end() {
  const abi::CUgraph real = stop();
  auto graph = real ? std::make_unique<Graph>(context_, real, communicates_) : nullptr;
  if (invalid_) throw *invalid_;
  if (!graph) refuse(kStreamCaptureInvalidated, "capture-invalidated", "the driver gave no graph");
  return graph;
}

void Capture::set_aside() {
  for (const auto& [stream, stand_in] : members_) stream->divert(nullptr);
}

void Capture::take_up() {
  for (const auto& [stream, stand_in] : members_) stream->divert(stand_in->real());
}

// -- by handle -----------------------------------------------------------------------------------------

void Graphs::add(uint64_t handle, std::shared_ptr<Graph> graph) {
  graphs_[handle] = {std::move(graph), nullptr};
}

void Graphs::require_free(uint64_t handle) const {
  if (executables_.contains(handle)) refuse_handle("executable graph " + hex(handle) + " exists already");
}

void Graphs::add(uint64_t handle, std::shared_ptr<Executable> executable, uint64_t flags) {
  executables_[handle] = {std::move(executable), nullptr, flags};
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

void Graphs::destroy_executable(uint64_t handle) {
  if (auto& real = executable(handle).real) destroyed_.push_back(std::move(real));
  executables_.erase(handle);
}

void Graphs::let_communicating_go() {
  const auto let_go = [](auto& entry) {
    if (entry.real && entry.real->communicates()) entry.real.reset();
  };
  for (auto& [handle, entry] : graphs_) let_go(entry);
  for (auto& [handle, entry] : executables_) let_go(entry);
  std::erase_if(destroyed_, [](const auto& one) { return one->communicates(); });
}

void Graphs::remember(const Resources& content) {
  const auto find = [](auto& entries, const auto& one) {
    const auto found = entries.find(one.handle);
    if (found != entries.end() && !found->second.real) found->second.content = one.ops;
  };
  for (const auto& one : content.graphs) find(graphs_, one);
  for (const auto& one : content.executables) find(executables_, one);
}

void Graphs::restore(const Resources& wanted) {
  graphs_.clear();
  executables_.clear();
  destroyed_.clear();
  for (const auto& one : wanted.graphs) graphs_[one.handle] = {nullptr, one.ops};
  for (const auto& one : wanted.executables) executables_[one.handle] = {nullptr, one.ops, one.flags};
}

}  // namespace jitc::cuda
