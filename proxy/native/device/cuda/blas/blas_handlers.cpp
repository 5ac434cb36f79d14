// See blas_handlers.h.
#include "blas_handlers.h"

#include "device/common/operands.h"
#include "device/cuda/stream/library_call.h"
#include "old_calls.h"

namespace jitc::cuda {
namespace {

template <class Op>
Lt::Request request_of(const Op& op) {
  const auto payload = payload_of(op);
  if (op.bytes > payload.size() || op.described > op.bytes)
    refuse_value("the description is longer than the payload");
  return {payload.first(op.described), op.objects, payload.first(op.bytes).subspan(op.described)};
}

}  // namespace

void BlasHandlers::create(const ops::BlasCreate& op) {
  library_call(issuer_.driver(), streams_.legacy(), [&] { blas_.create(op.handle); });
  issuer_.completed_synchronously(op.header);
}

void BlasHandlers::destroy(const ops::BlasDestroy& op) {
  blas_.destroy(op.handle);
  issuer_.completed_synchronously(op.header);
}

void BlasHandlers::set(const ops::BlasSet& op) {
  blas_.set(op);
  issuer_.completed_synchronously(op.header);
}

void BlasHandlers::call_blas(const ops::OpHeader& op, uint64_t handle, const Lt::Request& request) {
  Stream& stream = issuer_.stream_of(op);
  library_call(issuer_.driver(), stream, [&] {
    if (!request.described.empty()) refuse_value("a cuBLAS call brings no objects");
    blas_.call(handle, read_call(request.call, 0), op.stream, stream.real());
  });
  issuer_.submitted(stream, op);
}

void BlasHandlers::call_lt(const ops::OpHeader& op, const Lt::Request& request) {
  Stream& stream = issuer_.stream_of(op);
  library_call(issuer_.driver(), stream, [&] {
    const CallOutcome outcome = lt_.multiply(request, stream.real());
    check_blas(outcome.function, outcome.status);
  });
  issuer_.submitted(stream, op);
}

CallOutcome BlasHandlers::answer_of(const Lt::Request& request) {
  CallOutcome outcome;
  library_call(issuer_.driver(), streams_.legacy(), [&] { outcome = lt_.ask(request); });
  return outcome;
}

void BlasHandlers::call(const ops::LibraryCall& op) {
  op.handle ? call_blas(op.header, op.handle, request_of(op)) : call_lt(op.header, request_of(op));
}

void BlasHandlers::ask(const ops::LibraryAsk& op) {
  if (op.handle) refuse_value("cuBLAS is not asked anything");
  const CallOutcome outcome = answer_of(request_of(op));
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, outcome.packed());
}

void BlasHandlers::old_call(const ops::BlasCall& op) {
  call_blas(op.header, op.handle, OldCall(op, payload_of(op)).request());
}

void BlasHandlers::old_heuristic(const ops::LtHeuristic& op) {
  const OldCall call(op, payload_of(op));
  const CallOutcome outcome = op.requested ? answer_of(call.request()) : nothing_requested();
  issuer_.completed_synchronously(op.header);
  issuer_.answer(op.header, old_answer(outcome));
}

void BlasHandlers::old_multiply(const ops::LtMatmul& op) {
  call_lt(op.header, OldCall(op, payload_of(op)).request());
}

}  // namespace jitc::cuda
