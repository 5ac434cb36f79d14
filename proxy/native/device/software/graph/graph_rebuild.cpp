// See graph_rebuild.h.
#include "graph_rebuild.h"

#include "base/operands.h"

namespace jitc::software {
namespace {
const ops::OpHeader& header_of(const std::vector<std::byte>& record) {
  return *reinterpret_cast<const ops::OpHeader*>(record.data());
}

/// Adds an op of a content, which has those of all streams: only ops on a stream captured by now, or that
/// bring one into the capture, are part of the graph.
void take(Capture& capture, const ops::OpHeader& op, const FindGraph& find) {
  using ops::OpId;
  const bool inside = capture.has(op.stream);
  switch (static_cast<OpId>(op.op)) {
    case OpId::event_record: {
      const uint64_t event = as<ops::EventRecord>(op).event;
      return inside ? capture.record(event, op.stream) : capture.forget_event(event);
    }
    case OpId::event_wait:
      if (capture.has_event(as<ops::EventWait>(op).event))
        capture.wait(as<ops::EventWait>(op).event, op.stream);
      return;
    case OpId::graph_launch:
      if (inside) capture.add(op.stream, find(as<ops::GraphLaunch>(op).executable));
      return;
    case OpId::capture_begin:
    case OpId::capture_end:
    case OpId::blas_set:
      return;
    default:
      if (inside) capture.add(op);
  }
}

bool ends(const Capture& capture, const ops::OpHeader& op) {
  return static_cast<ops::OpId>(op.op) == ops::OpId::capture_end && op.stream == capture.origin();
}
}  // namespace

GraphPointer make_again(const Resources::Content& content, const FindGraph& find) {
  if (content.ops.empty()) throw never_ended();
  Capture capture(header_of(content.ops.front()).stream);
  try {
    for (const auto& record : content.ops) {
      if (ends(capture, header_of(record))) return capture.end();
      take(capture, header_of(record), find);
    }
  } catch (const OpError& error) {
    throw not_made_again(error);
  }
  throw never_ended();
}

std::unique_ptr<Capture> resume(const Resources::Capture& open, const FindGraph& find) {
  auto capture = std::make_unique<Capture>(open.stream);
  try {
    for (const auto& record : open.ops->ops) take(*capture, header_of(record), find);
  } catch (const OpError& error) {
    capture->invalidate(error);
  }
  return capture;
}

}  // namespace jitc::software
