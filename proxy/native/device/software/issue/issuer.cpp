// See issuer.h.
#include "issuer.h"

#include <utility>

#include "device/software/errors/error.h"

namespace jitc::software {

void Issuer::queue(const ops::OpHeader& op, std::function<void()> work, bool here) const {
  if (collected_) return collected_->push_back({&op, std::move(work)});
  Stream& stream = stream_of(op);
  runner_.push(stream, {&op, std::move(work), streams_.legacy_order(stream), {}, {}}, here);
}

void Issuer::push(Stream& stream, Task task) const { runner_.push(stream, std::move(task)); }

void Issuer::answer(const ops::OpHeader& op, std::span<const std::byte> payload) const {
  sink_.result(op.sequence, kSuccess, payload);
}

void Issuer::drain() const {
  if (!hub_.wait([this] { return runner_.idle(); })) throw Abandoned{};
}

}  // namespace jitc::software
