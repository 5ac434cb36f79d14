// See collective_handlers.h.
#include "collective_handlers.h"

namespace jitc::cuda {

void CollectiveHandlers::create(const ops::CommunicatorCreate& op) {
  communicators_.create(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::split(const ops::CommunicatorSplit& op) {
  communicators_.split(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::destroy(const ops::CommunicatorDestroy& op) {
  communicators_.destroy(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::end(const ops::CommunicatorAbort& op) {
  communicators_.end(op);
  issuer_.completed_synchronously(op.header);
}

void CollectiveHandlers::run(const ops::Collective& op) {
  Stream& stream = issuer_.stream_of(op.header);
  if (op.header.sequence == skipped_) return issuer_.submitted(stream, op.header);
  if (Capture* const capture = captures_.of(stream)) capture->add_collectives();
  communicators_.collective(op, stream.real());
  issuer_.submitted(stream, op.header);
}

bool CollectiveHandlers::fence(std::chrono::milliseconds limit) {
  skipped_ = 0;
  return communicators_.fence(limit);
}

}  // namespace jitc::cuda
