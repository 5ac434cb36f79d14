// See captures.h.
#include "captures.h"

#include "base/operands.h"
#include "jitc/generated_op_traits.h"

namespace jitc::software {
namespace {
/// Returns the op's name in the program's terms.
std::string name_of(const ops::OpHeader& op) {
  std::string name = "this op";
  const ops::Overloaded tell{
      [&](const ops::CopyH2d&) { name = "a copy from the host"; },
      [&](const ops::CopyH2dPinned&) { name = "a copy from the host"; },
      [&](const ops::CopyD2h&) { name = "a copy to the host"; },
      [&](const ops::CopyD2hPinned&) { name = "a copy to the host"; },
      [&](const ops::OperatorQuery&) { name = "an operator whose results depend on what is computed"; },
      [](const auto&) {},
  };
  ops::visit(op, tell);
  return name;
}
}  // namespace

Capture* Captures::of(const ops::OpHeader& op) const {
  if (op.stream <= kLastDefaultStream) return nullptr;
  return find([&](const Capture& one) { return one.has(op.stream); });
}

// -- begin and end -------------------------------------------------------------------------------------

void Captures::begin(const ops::OpHeader& op) {
  issuer_.stream_of(op);
  if (op.stream <= kLastDefaultStream) throw uncapturable("the default stream");
  if (of(op)) throw captured_already();
  captures_.push_back(std::make_unique<Capture>(op.stream));
  issuer_.completed_synchronously(op);
}

bool Captures::invalidate(const ops::OpHeader& op, const OpError& error, const std::string& message) {
  Capture* const capture = of(op);
  if (!capture) return false;
  capture->invalidate({error.status, error.cause, message});
  issuer_.completed_synchronously(op);
  return true;
}

// -- ops with another meaning ---------------------------------------------------------------------------

bool Captures::work(const ops::OpHeader& op) {
  const ops::OpTraits& traits = ops::traits(static_cast<ops::OpId>(op.op));
  Capture* const capture = traits.on_stream ? of(op) : nullptr;
  if (!capture || ops::as_if<ops::GraphLaunch>(op)) return false;  // has a handler
  if (!traits.capturable) throw uncapturable(name_of(op));
  capture->add(op);
  issuer_.completed_synchronously(op);
  return true;
}

bool Captures::record(const ops::OpHeader& op, uint64_t event) {
  Capture* const capture = of(op);
  recorded(event, capture);
  if (!capture) return false;
  events_.is_recorded(event);  // checks that it exists
  capture->record(event, op.stream);
  issuer_.completed_synchronously(op);
  return true;
}

bool Captures::wait(const ops::OpHeader& op, uint64_t event) {
  Capture* const capture = of(op);
  Capture* const other = of_event(event);
  if (!capture && !other) return false;
  issuer_.stream_of(op);
  if (op.stream <= kLastDefaultStream) throw uncapturable("work on the default stream");
  if (!other) {
    if (events_.is_recorded(event)) throw foreign_event();
    issuer_.completed_synchronously(op);  // nothing to wait for
    return true;
  }
  refuse_merge(capture, *other);
  other->wait(event, op.stream);
  issuer_.completed_synchronously(op);
  return true;
}

/// Invalidates the capture of a destroyed stream: it cannot end as it should.
void Captures::leave(uint64_t stream) {
  for (const auto& capture : captures_) {
    if (!capture->has(stream)) continue;
    capture->invalidate(uncapturable("destroying a captured stream"));
    capture->forget_stream(stream);
  }
}

}  // namespace jitc::software
