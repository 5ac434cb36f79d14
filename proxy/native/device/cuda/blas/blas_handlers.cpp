// See blas_handlers.h.
#include "blas_handlers.h"

#include "device/common/operands.h"
#include "device/cuda/driver/library_call.h"

namespace jitc::cuda {

void BlasHandlers::create(const ops::BlasCreate& op) {
  library_call(issuer_.driver(), streams_.legacy(), [&] { blas_.create(op.handle); });
  issuer_.done_in_place(op.header);
}

void BlasHandlers::destroy(const ops::BlasDestroy& op) {
  blas_.destroy(op.handle);
  issuer_.done_in_place(op.header);
}

void BlasHandlers::set(const ops::BlasSet& op) {
  blas_.set(op);
  issuer_.done_in_place(op.header);
}

void BlasHandlers::call(const ops::BlasCall& op) {
  Stream& stream = issuer_.stream_of(op.header);
  const auto payload = payload_of(op);
  if (op.slots > payload.size() / sizeof(ops::BlasSlot))
    refuse_value("the payload is shorter than its slots");
  const std::span slots(reinterpret_cast<const ops::BlasSlot*>(payload.data()), op.slots);
  library_call(issuer_.driver(), stream, [&] { blas_.call(op, slots, stream.real()); });
  issuer_.submitted(stream, op.header);
}

void BlasHandlers::heuristic(const ops::LtHeuristic& op) {
  std::vector<std::byte> found;
  library_call(issuer_.driver(), streams_.legacy(), [&] { found = lt_.heuristic(op, payload_of(op)); });
  issuer_.done_in_place(op.header);
  issuer_.answer(op.header, found);
}

void BlasHandlers::multiply(const ops::LtMatmul& op) {
  Stream& stream = issuer_.stream_of(op.header);
  library_call(issuer_.driver(), stream, [&] { lt_.matmul(op, payload_of(op), stream.real()); });
  issuer_.submitted(stream, op.header);
}

}  // namespace jitc::cuda
