// See capture.h.
#include "capture.h"

#include <algorithm>
#include <set>

#include "call.h"

namespace jitc::fakes {
namespace {
std::vector<std::shared_ptr<Capture>>& under_way() {
  static auto* const captures = new std::vector<std::shared_ptr<Capture>>;
  return *captures;
}

/// From the documentation of cuThreadExchangeStreamCaptureMode.
bool prohibits(const Capture& capture) {
  const int mine = thread_capture_mode();
  if (mine == kRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != kRelaxed;
  return mine == kGlobal && capture.mode == kGlobal;
}
}  // namespace

int& thread_capture_mode() {
  static thread_local int mode = kGlobal;
  return mode;
}

Capture::Capture(Stream& origin, int mode)
    : id(Driver::instance().new_handle()),
      mode(mode),
      thread(std::this_thread::get_id()),
      graph(std::make_shared<Graph>(Graph{&origin.context(), {}})),
      origin_(origin.shared_from_this()) {
  tails[origin_] = {};
}

void Capture::add(Stream& stream, const char* what, Body body) {
  if (invalid) throw Failure{kCaptureInvalidated};
  std::vector<size_t>& tail = tails[stream.shared_from_this()];
  graph->nodes.push_back({Driver::instance().new_handle(), what, std::move(body), tail});
  tail = {graph->nodes.size() - 1};
}

void Capture::join(Stream& stream, const std::vector<size_t>& after) {
  std::vector<size_t>& tail = tails[stream.shared_from_this()];
  for (const size_t node : after)
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
}

/// Whether all that other streams recorded comes before the origin's end.
bool Capture::joined() const {
  std::set<size_t> before;
  std::vector<size_t> open = tails.at(origin_);
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    if (!before.insert(node).second) continue;
    open.insert(open.end(), graph->nodes[node].after.begin(), graph->nodes[node].after.end());
  }
  return std::all_of(tails.begin(), tails.end(), [&](const auto& each) {
    return std::all_of(each.second.begin(), each.second.end(),
                       [&](size_t node) { return before.count(node) > 0; });
  });
}

int Capture::why_not(const Stream& stream) const {
  if (&stream != origin_.get()) return kCaptureUnmatched;
  if (mode != kRelaxed && thread != std::this_thread::get_id()) return kCaptureWrongThread;
  return kSuccess;
}

std::shared_ptr<Graph> Capture::end(Stream& stream) {
  if (const int reason = why_not(stream)) throw Failure{reason};
  const int result = invalid ? int{kCaptureInvalidated} : joined() ? int{kSuccess} : int{kCaptureUnjoined};
  over = true;
  for (const auto& [each, tail] : tails) each->capture.reset();
  auto& all = under_way();
  std::erase_if(all, [this](const auto& each) { return each.get() == this; });
  if (result) throw Failure{result};
  return graph;
}

bool Capture::holds(const Context& context, bool blocking_only) const {
  return std::any_of(tails.begin(), tails.end(), [&](const auto& each) {
    return &each.first->context() == &context && (!blocking_only || each.first->blocking());
  });
}

void begin_capture(Stream& stream, int mode) {
  if (mode < kGlobal || mode > kRelaxed) throw Failure{kInvalidValue};
  if (stream.legacy) throw Failure{kCaptureUnsupported};
  if (stream.capture) throw Failure{kInvalidValue};
  stream.capture = std::make_shared<Capture>(stream, mode);
  under_way().push_back(stream.capture);
}

void invalidate(const std::shared_ptr<Capture>& capture) {
  if (capture) capture->invalid = true;
}

void refuse_if_capturing(const Stream& stream) {
  if (!stream.capture) return;
  invalidate(stream.capture);
  throw Failure{kCaptureUnsupported};
}

void refuse_implicit_dependency(const Context& context, bool invalidates) {
  bool found = false;
  for (const auto& capture : under_way()) {
    if (!capture->holds(context, true)) continue;
    found = true;
    if (invalidates) capture->invalid = true;
  }
  if (found) throw Failure{kCaptureImplicit};
}

int refused_by_capture() {
  int result = kSuccess;
  for (const auto& capture : under_way()) {
    if (!prohibits(*capture)) continue;
    capture->invalid = true;
    result = kCaptureUnsupported;
  }
  return result;
}

/// The captures of a context that is no more are no longer in anybody's way.
void forget_captures(const Context& context) {
  std::erase_if(under_way(), [&](const auto& each) { return each->holds(context, false); });
}

/// A wait inside a capture becomes an edge; it also draws a stream that does not capture yet into the
/// capture.
void wait_event(Stream& stream, const Event& event) {
  if (!event.capture) {
    if (event.recorded && stream.capture) {
      invalidate(stream.capture);
      throw Failure{kCaptureIsolation};
    }
    return;
  }
  if (event.capture->over) throw Failure{kCapturedEvent};
  if (stream.legacy) throw Failure{kCaptureImplicit};
  if (stream.capture && stream.capture != event.capture) {
    invalidate(stream.capture);
    invalidate(event.capture);
    throw Failure{kCaptureMerge};
  }
  if (event.capture->invalid) throw Failure{kCaptureInvalidated};
  stream.capture = event.capture;
  stream.capture->join(stream, event.captured_after);
}

}  // namespace jitc::fakes
