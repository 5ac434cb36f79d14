// Placing of cuBLAS and cuBLASLt ops. See device.h.
#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"
#include "device/cuda/driver/library_call.h"

namespace jitc::cuda {
void Device::place_blas_create(const ops::OpHeader& op) {
  library_call(*legacy_, [&] { blas_.create(as<ops::BlasCreate>(op).handle); });
  done_in_place(op);
}

void Device::place_blas_destroy(const ops::OpHeader& op) {
  blas_.destroy(as<ops::BlasDestroy>(op).handle);
  done_in_place(op);
}

void Device::place_blas_set(const ops::OpHeader& op) {
  blas_.set(as<ops::BlasSet>(op));
  done_in_place(op);
}

void Device::place_blas_call(const ops::OpHeader& op) {
  const auto& call = as<ops::BlasCall>(op);
  Stream& stream = stream_of(op);
  const auto payload = payload_of(call);
  if (call.slots > payload.size() / sizeof(ops::BlasSlot))
    refuse_value("the payload is shorter than its slots");
  const std::span slots(reinterpret_cast<const ops::BlasSlot*>(payload.data()), call.slots);
  library_call(stream, [&] { blas_.call(call, slots, stream.real()); });
  submitted(stream, op);
}

void Device::place_lt_heuristic(const ops::OpHeader& op) {
  const auto& heuristic = as<ops::LtHeuristic>(op);
  std::vector<std::byte> found;
  library_call(*legacy_, [&] { found = lt_.heuristic(heuristic, payload_of(heuristic)); });
  done_in_place(op);
  answer(op, found);
}

void Device::place_lt_matmul(const ops::OpHeader& op) {
  const auto& product = as<ops::LtMatmul>(op);
  Stream& stream = stream_of(op);
  library_call(stream, [&] { lt_.matmul(product, payload_of(product), stream.real()); });
  submitted(stream, op);
}

}  // namespace jitc::cuda
