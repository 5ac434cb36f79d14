// Placing of captures and graphs, and of the ops that mean something else during a capture. See device.h.
//
// An op that has no place in a graph spoils the capture: an op that waits is answered with the reason at
// once, and the capture's end is in any case. A graph that a rebuild lost is made again from its ops, by
// placing them again into a capture, when it is needed first.
#include <algorithm>

#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"
#include "device/cuda/device/table.h"

namespace jitc::cuda {
namespace {

OpError unsupported(const std::string& what) {
  return {kCaptureUnsupported, "capture-unsupported", what + " cannot be captured"};
}

const ops::OpHeader& header_of(const std::vector<std::byte>& record) {
  return *reinterpret_cast<const ops::OpHeader*>(record.data());
}
}  // namespace

// -- captures ------------------------------------------------------------------------------------------

Capture* Device::capture_of(const Stream& stream) const {
  if (!stream.diverted()) return nullptr;
  for (const auto& capture : captures_)
    if (capture->has(stream)) return capture.get();
  return nullptr;
}

Capture* Device::capture_of_event(uint64_t event) const {
  for (const auto& capture : captures_)
    if (capture->has_event(event)) return capture.get();
  return nullptr;
}

/// Of the op's stream, if it is captured.
Capture* Device::capture_of(const ops::OpHeader& op) const {
  const auto found = captures_.empty() ? streams_.end() : streams_.find(op.stream);
  return found == streams_.end() ? nullptr : capture_of(*found->second);
}

/// Ops that mean something else while streams are captured; true: it is placed.
bool Device::placed_in_capture(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::event_record:
      return recorded_in_capture(op, as<ops::EventRecord>(op).event);
    case OpId::event_wait:
      return waits_in_capture(op, as<ops::EventWait>(op).event);
    case OpId::event_destroy:
      if (Capture* const capture = capture_of_event(as<ops::EventDestroy>(op).handle))
        capture->forget_event(as<ops::EventDestroy>(op).handle);
      return false;
    case OpId::stream_synchronize:
      if (capture_of(op)) throw unsupported("synchronizing the stream");
      return false;
    case OpId::device_synchronize:
      for (const auto& capture : captures_) capture->spoil(unsupported("synchronizing the device"));
      throw unsupported("synchronizing the device");
    case OpId::event_synchronize:
      refuse_captured_event(as<ops::EventSynchronize>(op).event);
      return false;
    case OpId::event_elapsed:
      refuse_captured_event(as<ops::EventElapsed>(op).start);
      refuse_captured_event(as<ops::EventElapsed>(op).end);
      return false;
    case OpId::stream_destroy:
      leave_capture(as<ops::StreamDestroy>(op).handle);
      return false;
    default:
      return false;
  }
}

bool Device::recorded_in_capture(const ops::OpHeader& op, uint64_t event) {
  Stream& stream = stream_of(op);
  Capture* const before = capture_of_event(event);
  Capture* const capture = capture_of(stream);
  if (before && before != capture) before->forget_event(event);
  if (!capture) return false;
  if (!again_) event_of(event);
  capture->record(event, stream);
  submitted(stream, op);
  return true;
}

bool Device::waits_in_capture(const ops::OpHeader& op, uint64_t event) {
  Stream& stream = stream_of(op);
  Capture* const capture = capture_of(stream);
  Capture* const other = capture_of_event(event);
  if (!capture && !other) return false;
  if (&stream == legacy_.get()) throw unsupported("work on the default stream");
  if (!other) {
    if (!event_of(event).recorded) return submitted(stream, op), true;  // nothing to wait for
    refuse(kCaptureIsolation, "capture-isolation",
           "the captured stream waits for an event that was not recorded in the same capture");
  }
  if (capture && capture != other) {
    const OpError merge{kCaptureMerge, "capture-merge", "two captures cannot become one"};
    other->spoil(merge);
    throw merge;
  }
  other->wait(event, stream);
  submitted(stream, op);
  return true;
}

void Device::refuse_captured_event(uint64_t event) {
  Capture* const capture = capture_of_event(event);
  if (!capture) return;
  const OpError error{kCapturedEvent, "captured-event", "the event was last recorded in a captured stream"};
  capture->spoil(error);
  throw error;
}

/// A captured stream is destroyed: the capture cannot end as it should.
void Device::leave_capture(uint64_t handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return;
  Capture* const capture = capture_of(*found->second);
  if (!capture) return;
  capture->spoil(unsupported("destroying a captured stream"));
  capture->forget_stream(*found->second);
}

/// The op cannot be in the graph: so there will be no graph. True: nobody else needs to know.
bool Device::spoiled(const ops::OpHeader& op, const OpError& error, const std::string& message) {
  Capture* const capture = again_ || error.sticky ? nullptr : capture_of(op);
  if (!capture) return false;
  capture->spoil({error.status, error.cause, message});
  done_in_place(op);
  return true;
}

void Device::place_capture_begin(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  if (&stream == legacy_.get()) throw unsupported("the default stream");
  if (stream.diverted()) refuse(kCaptureUnmatched, "capture-unmatched", "the stream is captured already");
  captures_.push_back(std::make_unique<Capture>(context_, op.stream, stream));
  done_in_place(op);
}

/// The capture that began on the op's stream, which is over now.
std::unique_ptr<Capture> Device::take_capture(const ops::OpHeader& op) {
  const auto found = std::find_if(captures_.begin(), captures_.end(),
                                  [&](const auto& capture) { return capture->origin() == op.stream; });
  if (found == captures_.end())
    refuse(kCaptureUnmatched, "capture-unmatched", "no capture has begun on this stream");
  auto capture = std::move(*found);
  captures_.erase(found);
  return capture;
}

void Device::place_capture_end(const ops::OpHeader& op) {
  const uint64_t handle = as<ops::CaptureEnd>(op).graph;
  const auto capture = take_capture(op);
  done_in_place(op);
  std::shared_ptr<Graph> graph = capture->end();
  if (graphs_.has_graph(handle)) refuse_handle("graph " + hex(handle) + " exists already");
  const uint64_t nodes = graph->nodes();
  graphs_.add(handle, std::move(graph));
  answer(op, packed(nodes));
}

// -- graphs --------------------------------------------------------------------------------------------

void Device::place_graph_destroy(const ops::OpHeader& op) {
  graphs_.destroy_graph(as<ops::GraphDestroy>(op).graph);
  done_in_place(op);
}

void Device::place_graph_instantiate(const ops::OpHeader& op) {
  const auto& make = as<ops::GraphInstantiate>(op);
  auto& graph = graphs_.graph(make.graph);
  graphs_.require_free(make.executable);
  if (!graph.real) {
    auto real = made_again(*graph.content);
    graphs_.graph(make.graph).real = std::move(real);
  }
  graphs_.add(make.executable,
              std::make_shared<Executable>(context_, *graphs_.graph(make.graph).real, make.flags),
              make.flags);
  done_in_place(op);
  answer(op);
}

void Device::place_executable_destroy(const ops::OpHeader& op) {
  graphs_.destroy_executable(as<ops::ExecutableDestroy>(op).executable);
  done_in_place(op);
}

void Device::place_graph_launch(const ops::OpHeader& op) {
  Stream& stream = stream_of(op);
  const auto executable = executable_of(as<ops::GraphLaunch>(op).executable);
  if (Capture* const capture = capture_of(stream); capture && executable->communicates())
    capture->add_collectives();
  check("cuGraphLaunch", driver().cuGraphLaunch(executable->real(), stream.real()));
  submitted(stream, op);
}

/// Made again when it is not there yet.
std::shared_ptr<Executable> Device::executable_of(uint64_t handle) {
  auto& entry = graphs_.executable(handle);
  if (entry.real) return entry.real;
  if (entry.under_way)
    refuse(kNotSupported, "graph-in-itself",
           "the graph launches another one that is no more: it cannot be made again");
  entry.under_way = true;
  const Resources::Captured content = entry.content;
  try {
    const auto graph = made_again(*content);
    entry.real = std::make_shared<Executable>(context_, *graph, entry.flags);
  } catch (...) {
    entry.under_way = false;
    throw;
  }
  entry.under_way = false;
  return entry.real;
}

// -- again ---------------------------------------------------------------------------------------------

/// While it lives ops are placed only to be captured: nobody is told of them, captures under way are out of
/// sight, streams that are no more are there again, and cuBLAS handles are set as they were then.
class Device::Again {
 public:
  explicit Again(Device& device)
      : device_(device), before_(device.again_), settings_(device.blas_.settings()) {
    device_.again_ = true;
    for (const auto& capture : device_.captures_) capture->set_aside();
    aside_.swap(device_.captures_);
  }
  ~Again() {
    device_.captures_.clear();
    device_.captures_.swap(aside_);
    for (const auto& capture : device_.captures_) capture->take_up();
    for (const uint64_t handle : added_) device_.streams_.erase(handle);
    try {
      device_.blas_.restore(settings_);
    } catch (const OpError& error) {
      device_.fault(0, error);
    }
    device_.again_ = before_;
  }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;
  void need_stream(uint64_t handle) {
    if (handle <= kLastDefaultStream || device_.streams_.contains(handle)) return;
    const Resources::Stream made{handle, abi::kStreamNonBlocking, 0};
    device_.streams_.emplace(handle, std::make_unique<Stream>(device_.context_, *device_.completer_, made));
    added_.push_back(handle);
  }

 private:
  Device& device_;
  const bool before_;
  const std::vector<Resources::Blas> settings_;
  std::vector<std::unique_ptr<Capture>> aside_;
  std::vector<uint64_t> added_;
};

std::shared_ptr<Graph> Device::made_again(const Resources::Content& content) {
  Again again(*this);
  try {
    for (const auto& record : content.ops) {
      const auto& op = header_of(record);
      again.need_stream(op.stream);
      if (static_cast<ops::OpId>(op.op) == ops::OpId::capture_end) return take_capture(op)->end();
      place_again(op);
    }
  } catch (const OpError& error) {
    throw OpError{error.status, error.cause, "the graph cannot be made again: " + error.message,
                  error.sticky};
  }
  refuse(kCaptureUnmatched, "capture-unmatched", "the graph cannot be made again: its capture never ended");
}

/// Only what is on a captured stream by now, or brings one into the capture.
void Device::place_again(const ops::OpHeader& op) {
  using ops::OpId;
  const auto id = static_cast<OpId>(op.op);
  if (id == OpId::capture_begin) return place_capture_begin(op);
  if (id == OpId::blas_set) return blas_.set_again(as<ops::BlasSet>(op));
  if (id == OpId::event_wait && !capture_of_event(as<ops::EventWait>(op).event)) return;
  if (id != OpId::event_wait && !capture_of(op)) return;
  if (placed_in_capture(op)) return;
  if (const Table* const entry = Table::find(op.op)) (this->*entry->place)(op);
}

/// NCCL's abort waits for every graph of a communicator. They are made again when they are needed: after a
/// roll-back from what restore() brings, else from what remember_graphs() brings.
void Device::let_communicating_graphs_go() {
  std::erase_if(captures_, [](const auto& capture) { return capture->communicates(); });
  graphs_.let_communicating_go();
}

void Device::remember_graphs(const Resources& content) {
  const std::lock_guard lock(mutex_);
  graphs_.remember(content);
  open_captures_.clear();
  for (const Resources::Capture& open : content.captures) {
    const auto is_same = [&](const auto& capture) { return capture->origin() == open.stream; };
    const bool under_way = std::any_of(captures_.begin(), captures_.end(), is_same);
    if (!under_way) open_captures_.push_back(open);
  }
}

/// Captures that were under way at the boundary go on where they were: before the first op after it.
void Device::resume_captures() {
  std::vector<Resources::Capture> open;
  open.swap(open_captures_);
  const auto settings = blas_.settings();
  for (const auto& one : open) {
    again_ = true;
    try {
      for (const auto& record : one.ops->ops) place_again(header_of(record));
    } catch (const OpError& error) {
      for (const auto& capture : captures_)
        if (capture->origin() == one.stream) capture->spoil(error);
    }
    again_ = false;
  }
  blas_.restore(settings);
}

}  // namespace jitc::cuda
