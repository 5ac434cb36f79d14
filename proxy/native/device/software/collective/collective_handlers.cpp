// See collective_handlers.h.
#include "collective_handlers.h"

#include <utility>

namespace jitc::software {

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

/// Fixes the order on the communicators as that of the ops, regardless of streams.
void CollectiveHandlers::run(const ops::Collective& op) {
  issuer_.stream_of(op.header);
  auto group = communicators_.group(op);
  issuer_.queue(op.header, [this, group = std::move(group)] {
    const Crew::Absence absence(crew_);
    communicators_.run(*group, memory_, residency_);
  });
}

}  // namespace jitc::software
