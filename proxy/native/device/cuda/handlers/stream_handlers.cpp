// See stream_handlers.h.
#include "stream_handlers.h"

#include <atomic>
#include <memory>
#include <utility>

namespace jitc::cuda {

void StreamHandlers::create(const ops::StreamCreate& op) {
  streams_.create({op.handle, op.flags, op.priority});
  issuer_.completed_synchronously(op.header);
}

void StreamHandlers::destroy(const ops::StreamDestroy& op) {
  streams_.at(op.handle);
  issuer_.completed_synchronously(op.header);
  streams_.destroy(op.handle);
}

/// Answers when all work so far of the streams has run.
void StreamHandlers::answer_after(std::vector<Stream*> streams, const ops::OpHeader& op) {
  issuer_.completed_synchronously(op);
  std::erase_if(streams, [this](const Stream* stream) { return poller_.idle(*stream->timeline()); });
  if (streams.empty()) return issuer_.answer(op);
  const auto remaining = std::make_shared<std::atomic<size_t>>(streams.size());
  for (Stream* const stream : streams)
    poller_.after(stream->timeline(),
                  {op.sequence, 0, {}, [&sink = issuer_.sink(), remaining, sequence = op.sequence] {
                     if (remaining->fetch_sub(1) == 1) sink.result(sequence, kSuccess, {});
                   }});
}

void StreamHandlers::synchronize(const ops::StreamSynchronize& op) {
  Stream& stream = issuer_.stream_of(op.header);
  std::vector<Stream*> streams{&stream};
  // Work on the legacy default stream is ordered with that of every blocking stream.
  if (&stream == &streams_.legacy())
    for (Stream* const other : streams_.all())
      if (other != &stream && other->blocking()) streams.push_back(other);
  answer_after(std::move(streams), op.header);
}

void StreamHandlers::synchronize_all(const ops::DeviceSynchronize& op) {
  streams_.reap(false);
  answer_after(streams_.all(), op.header);
}

}  // namespace jitc::cuda
