// See stream.h.
#include "stream.h"

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
/// Flags passed to the driver; the client refuses events that other processes open.
constexpr uint64_t kKnownEventFlags = 3;  // CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING
}  // namespace

Stream::Stream(std::shared_ptr<Context> context, CompletionPoller& poller)
    : context_(std::move(context)), made_{0, 0, 0}, timeline_(poller.timeline(0, nullptr)) {}

Stream::Stream(std::shared_ptr<Context> context, CompletionPoller& poller, const Resources::Stream& wanted)
    : context_(std::move(context)), made_(wanted) {
  if (wanted.flags > abi::kStreamNonBlocking) refuse_value("stream flags " + hex(wanted.flags));
  const Driver& driver = context_->driver();
  check(driver, "cuStreamCreateWithPriority",
        driver.cuStreamCreateWithPriority(&real_, wanted.flags, wanted.priority));
  try {
    timeline_ = poller.timeline(wanted.handle, real_);
  } catch (...) {
    driver.cuStreamDestroy(real_);
    throw;
  }
}

Stream::~Stream() {
  if (!real_) return;
  context_->bind();
  context_->driver().cuStreamDestroy(real_);
}

Event::Event(std::shared_ptr<Context> context, uint64_t flags) : context_(std::move(context)), flags_(flags) {
  if (flags & ~kKnownEventFlags) refuse_value("event flags " + hex(flags));
  const Driver& driver = context_->driver();
  check(driver, "cuEventCreate", driver.cuEventCreate(&real_, static_cast<uint32_t>(flags)));
}

Event::~Event() {
  context_->bind();
  context_->driver().cuEventDestroy(real_);
}

}  // namespace jitc::cuda
