// See graph_rebuild.h.
#include "graph_rebuild.h"

#include <utility>

#include "jitc/generated_op_traits.h"

namespace jitc::cuda {
namespace {
const ops::OpHeader& header_of(const std::vector<std::byte>& record) {
  return *reinterpret_cast<const ops::OpHeader*>(record.data());
}
}  // namespace

/// Scope in which ops are issued only to be captured: they are not reported, captures in progress are hidden,
/// destroyed streams exist again, and cuBLAS handles have their settings of that time.
class GraphRebuild::Scope {
 public:
  explicit Scope(GraphRebuild& of)
      : of_(of), before_(of.issuer_.rebuilding()), settings_(of.blas_.settings()) {
    of_.issuer_.set_rebuilding(true);
    aside_ = of_.captures_.set_aside();
  }
  ~Scope() {
    of_.captures_.take_up(std::move(aside_));
    for (const uint64_t handle : added_) of_.streams_.erase(handle);
    try {
      of_.blas_.restore(settings_);
    } catch (const OpError& error) {
      of_.state_.fault(0, error.status, error.cause, error.message);
    }
    of_.issuer_.set_rebuilding(before_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  void need_stream(uint64_t handle) {
    if (handle <= kLastDefaultStream || of_.streams_.find(handle)) return;
    of_.streams_.create({handle, abi::kStreamNonBlocking, 0});
    added_.push_back(handle);
  }

 private:
  GraphRebuild& of_;
  const bool before_;
  const std::vector<Resources::Blas> settings_;
  Captures::List aside_;
  std::vector<uint64_t> added_;
};

std::shared_ptr<Graph> GraphRebuild::make(const Resources::Content& content) {
  Scope scope(*this);
  try {
    for (const auto& record : content.ops) {
      const auto& op = header_of(record);
      scope.need_stream(op.stream);
      if (ops::as_if<ops::CaptureEnd>(op)) return captures_.take(op)->end();
      issue(op);
    }
  } catch (const OpError& error) {
    throw not_made_again(error);
  }
  throw never_ended();
}

/// Issues only ops on a stream captured by now, or that bring one into the capture.
void GraphRebuild::issue(const ops::OpHeader& op) {
  if (ops::as_if<ops::CaptureBegin>(op)) return captures_.begin(op);
  if (const auto* const set = ops::as_if<ops::BlasSet>(op)) return blas_.set_again(*set);
  const auto* const wait = ops::as_if<ops::EventWait>(op);
  if (wait ? !captures_.of_event(wait->event) : !captures_.of(op)) return;
  if (captures_.intercept(op)) return;
  if (const Handler* const handler = handlers_.find(op)) (*handler)(op);
}

/// Resumes captures that were in progress at the boundary, before the first op after it.
void GraphRebuild::resume() {
  std::vector<Resources::Capture> open;
  open.swap(open_);
  const auto settings = blas_.settings();
  for (const auto& one : open) {
    issuer_.set_rebuilding(true);
    try {
      for (const auto& record : one.ops->ops) issue(header_of(record));
    } catch (const OpError& error) {
      if (Capture* const capture = captures_.begun_on(one.stream)) capture->invalidate(error);
    }
    issuer_.set_rebuilding(false);
  }
  blas_.restore(settings);
}

}  // namespace jitc::cuda
