// See dnn_handlers.h.
#include "dnn_handlers.h"

#include "device/common/operands.h"
#include "device/cuda/stream/library_call.h"

namespace jitc::cuda {
namespace {

Dnn::Request request_of(uint32_t objects, uint32_t calls, uint64_t bytes,
                        std::span<const std::byte> payload) {
  if (bytes > payload.size()) refuse_value("the description is longer than the payload");
  return {objects, calls, payload.first(bytes)};
}
template <class Op>
Dnn::Request request_of(const Op& op) {
  return request_of(op.objects, op.calls, op.bytes, payload_of(op));
}

template <class Op>
std::span<const ops::DnnTensor> tensors_of(const Op& op) {
  const auto payload = payload_of(op);
  if (op.count > payload.size() / sizeof(ops::DnnTensor))
    refuse_value("the payload is shorter than its tensors");
  return {reinterpret_cast<const ops::DnnTensor*>(payload.data()), op.count};
}

}  // namespace

template <class Call>
void DnnHandlers::answer_outcome(const ops::OpHeader& op, Call&& call) {
  Stream& stream = issuer_.stream_of(op);
  CallOutcome outcome;
  library_call(issuer_.driver(), stream, [&] { outcome = call(stream); });
  try {
    library_call(issuer_.driver(), stream, [&] { demand(outcome); });
  } catch (const OpError& error) {
    if (error.sticky) throw;
  }
  issuer_.submitted(stream, op);
  issuer_.answer(op, outcome.packed());
}

void DnnHandlers::ask(const ops::DnnAsk& op) {
  answer_outcome(op.header, [&](const Stream& stream) { return dnn_.call(request_of(op), stream.real()); });
}

void DnnHandlers::call(const ops::DnnCall& op) {
  Stream& stream = issuer_.stream_of(op.header);
  library_call(issuer_.driver(), stream, [&] { demand(dnn_.call(request_of(op), stream.real())); });
  issuer_.submitted(stream, op.header);
}

void DnnHandlers::try_call(const ops::DnnTry& op) {
  answer_outcome(op.header, [&](const Stream& stream) { return dnn_.call(request_of(op), stream.real()); });
}

void DnnHandlers::load_plan(const ops::DnnPlanLoad& op) {
  dnn_.load_plan(op);
  issuer_.completed_synchronously(op.header);
}

void DnnHandlers::drop_plan(const ops::DnnPlanDrop& op) {
  dnn_.drop_plan(op.plan);
  issuer_.completed_synchronously(op.header);
}

void DnnHandlers::execute(const ops::DnnExecute& op) {
  Stream& stream = issuer_.stream_of(op.header);
  library_call(issuer_.driver(), stream,
               [&] { demand(dnn_.execute(op.plan, op.workspace, tensors_of(op), stream.real())); });
  issuer_.submitted(stream, op.header);
}

void DnnHandlers::try_execute(const ops::DnnExecuteTry& op) {
  answer_outcome(op.header, [&](const Stream& stream) {
    return dnn_.execute(op.plan, op.workspace, tensors_of(op), stream.real());
  });
}

}  // namespace jitc::cuda
