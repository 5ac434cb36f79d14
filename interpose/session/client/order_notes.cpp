// See order_notes.h.
#include "order_notes.h"

#include <algorithm>
#include <cstring>

#include "session/order_check.h"

namespace jitc::session {
namespace {

bool touches_memory(const ops::OpHeader& op) {
  switch (static_cast<ops::OpId>(op.op)) {
    case ops::OpId::copy_h2d:
    case ops::OpId::copy_d2h:
    case ops::OpId::copy_d2d:
    case ops::OpId::copy_2d:
    case ops::OpId::copy_h2d_pinned:
    case ops::OpId::copy_d2h_pinned:
    case ops::OpId::fill:
    case ops::OpId::operator_call:
    case ops::OpId::operator_query:
    case ops::OpId::collective:
    case ops::OpId::matmul:
      return true;
    default:
      return false;
  }
}

bool is(const ops::OpHeader& op, ops::OpId id) { return op.op == static_cast<uint16_t>(id); }

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
  if (is(op, ops::OpId::boundary)) told_ = nullptr;
  const bool touches = touches_memory(op);
  if (!touches && !is(op, ops::OpId::event_record) && !is(op, ops::OpId::event_wait)) return;
  for (const order_check::Found& one : order_check::take_found(session)) {
    ops::OrderKnown known;
    known.stream = one.stream;
    known.until = one.until;
    put(known, op.stream, {}, queue);
  }
  if (touches) tell_site(op, queue);
}

}  // namespace jitc::session
