// See copy_handlers.h.
#include "copy_handlers.h"

#include <utility>

#include "device/software/memory/copy.h"

namespace jitc::software {
namespace {
constexpr uint64_t kShortCopy = 16 << 10;
}  // namespace

void CopyHandlers::queue(const ops::OpHeader& op, uint64_t bytes, std::function<void()> work) {
  if (bytes <= kShortCopy)
    issuer_.queue_short(op, std::move(work));
  else
    issuer_.queue(op, std::move(work));
}

void CopyHandlers::h2d(const ops::CopyH2d& op) {
  issuer_.queue(op.header, [this, &op] { copy_h2d(memory_, issuer_.sink(), op); });
}

void CopyHandlers::d2h(const ops::CopyD2h& op) {
  queue(op.header, op.bytes,
        [this, &op] { issuer_.answer(op.header, copy_d2h(memory_, issuer_.sink(), op)); });
}

void CopyHandlers::d2h_pinned(const ops::CopyD2hPinned& op) {
  issuer_.queue(op.header, [this, &op] {
    const auto hash = copy_d2h_pinned(memory_, pinned_, issuer_.sink(), op);
    issuer_.answer(op.header, std::as_bytes(std::span(hash)));
  });
}

void CopyHandlers::d2d(const ops::CopyD2d& op) {
  queue(op.header, op.bytes, [this, &op] { copy_d2d(memory_, issuer_.sink(), op); });
}

void CopyHandlers::pitched(const ops::Copy2d& op) {
  issuer_.queue(op.header, [this, &op] { copy_2d(memory_, issuer_.sink(), op); });
}

void CopyHandlers::sliced(const ops::Copy3d& op) {
  issuer_.queue(op.header, [this, &op] { copy_3d(memory_, issuer_.sink(), op); });
}

void CopyHandlers::fill(const ops::Fill& op) {
  queue(op.header, op.bytes, [this, &op] { software::fill(memory_, op); });
}

}  // namespace jitc::software
