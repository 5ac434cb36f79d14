// See order_notes.h.
#include "order_notes.h"

#include <algorithm>
#include <cstring>

#include "jitc/generated_op_traits.h"
#include "session/order_check.h"

namespace jitc::session {
namespace {

template <class Op>
void put(Op op, uint64_t stream, std::span<const std::byte> payload, SendQueue& queue) {
  op.header.op = static_cast<uint16_t>(Op::kId);
  op.header.stream = stream;
  queue.append(&op.header, sizeof op, payload);
}

}  // namespace

void OrderNotes::tell_site(const ops::OpHeader& op, SendQueue& queue) {
  const char* const site = order_check::current_site();
  if (site == told_) return;
  told_ = site;
  // An empty text is not allowed.
  const std::span text(*site ? site : "\n", std::max<size_t>(1, std::strlen(site)));
  ops::OrderSite note;
  note.bytes = text.size();
  put(note, op.stream, std::as_bytes(text), queue);
}

void OrderNotes::before(const Session& session, const ops::OpHeader& op, SendQueue& queue) {
  // A worker that resumes at a boundary knows nothing from before it.
  if (ops::as_if<ops::Boundary>(op)) told_ = nullptr;
  if (!ops::traits(static_cast<ops::OpId>(op.op)).on_stream) return;
  for (const order_check::Found& one : order_check::take_found(session)) {
    ops::OrderKnown known;
    known.stream = one.stream;
    known.until = one.until;
    put(known, op.stream, {}, queue);
  }
  const bool orders = ops::as_if<ops::EventRecord>(op) || ops::as_if<ops::EventWait>(op);
  if (!orders) tell_site(op, queue);
}

}  // namespace jitc::session
