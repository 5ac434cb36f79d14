// See stream_handlers.h.
#include "stream_handlers.h"

#include <atomic>
#include <memory>
#include <utility>

namespace jitc::software {

void StreamHandlers::create(const ops::StreamCreate& op) {
  streams_.create(op.handle, op.flags);
  issuer_.completed_synchronously(op.header);
}

void StreamHandlers::destroy(const ops::StreamDestroy& op) {
  streams_.at(op.handle);
  issuer_.completed_synchronously(op.header);
  streams_.destroy(op.handle);
}

void StreamHandlers::synchronize(const ops::StreamSynchronize& op) {
  Stream& stream = issuer_.stream_of(op.header);
  std::vector<After> after;
  if (&stream == &streams_.legacy()) after = streams_.legacy_order(stream);
  if (!after.empty() || !stream.idle())
    return issuer_.push(stream,
                        {&op.header, [this, &op] { issuer_.answer(op.header); }, std::move(after), {}, {}});
  stream.note(op.header.sequence);
  issuer_.answer(op.header);
}

/// Synchronizes; the stream that finishes last reports the result.
void StreamHandlers::synchronize_all(const ops::DeviceSynchronize& op) {
  const auto busy = streams_.busy();
  issuer_.completed_synchronously(
      op.header);  // progress passes it although its stream may have nothing to do
  if (busy.empty()) return issuer_.answer(op.header);
  const auto remaining = std::make_shared<std::atomic<size_t>>(busy.size());
  const auto join = [this, &op, remaining] {
    if (remaining->fetch_sub(1) == 1) issuer_.answer(op.header);
  };
  for (Stream* const stream : busy) issuer_.push(*stream, {&op.header, join, {}, {}, {}});
}

}  // namespace jitc::software
