// See graph_rebuild.h.
#include "graph_rebuild.h"

#include "jitc/generated_op_traits.h"

namespace jitc::software {
namespace {
const ops::OpHeader& header_of(const std::vector<std::byte>& record) {
  return *reinterpret_cast<const ops::OpHeader*>(record.data());
}

/// Adds an op of a content, which has those of all streams: only ops on a stream captured by now, or that
/// bring one into the capture, are part of the graph.
void take(Capture& capture, const ops::OpHeader& op, const FindGraph& find) {
  const bool inside = capture.has(op.stream);
  const ops::Overloaded take_op{
      [&](const ops::EventRecord& one) {
        inside ? capture.record(one.event, op.stream) : capture.forget_event(one.event);
      },
      [&](const ops::EventWait& one) {
        if (capture.has_event(one.event)) capture.wait(one.event, op.stream);
      },
      [&](const ops::GraphLaunch& one) {
        if (inside) capture.add(op.stream, find(one.executable));
      },
      [](const ops::CaptureBegin&) {},
      [](const ops::CaptureEnd&) {},
      [](const ops::BlasSet&) {},
      [&](const auto&) {
        if (inside) capture.add(op);
      },
  };
  ops::visit(op, take_op);
}

bool ends(const Capture& capture, const ops::OpHeader& op) {
  return ops::as_if<ops::CaptureEnd>(op) && op.stream == capture.origin();
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
