// Placing of cuDNN ops. See device.h.
#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"
#include "device/cuda/driver/library_call.h"

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
void Device::answer_outcome(const ops::OpHeader& op, Call&& call) {
  Stream& stream = stream_of(op);
  DnnOutcome outcome;
  library_call(stream, [&] { outcome = call(stream); });
  try {
    library_call(stream, [&] { outcome.demand(); });
  } catch (const OpError& error) {
    if (error.sticky) throw;
  }
  submitted(stream, op);
  answer(op, outcome.packed());
}

void Device::place_dnn_ask(const ops::OpHeader& op) {
  const auto& ask = as<ops::DnnAsk>(op);
  answer_outcome(op, [&](const Stream& stream) { return dnn_.call(request_of(ask), stream.real()); });
}

void Device::place_dnn_call(const ops::OpHeader& op) {
  const auto& call = as<ops::DnnCall>(op);
  Stream& stream = stream_of(op);
  library_call(stream, [&] { dnn_.call(request_of(call), stream.real()).demand(); });
  submitted(stream, op);
}

void Device::place_dnn_try(const ops::OpHeader& op) {
  const auto& call = as<ops::DnnTry>(op);
  answer_outcome(op, [&](const Stream& stream) { return dnn_.call(request_of(call), stream.real()); });
}

void Device::place_dnn_plan_load(const ops::OpHeader& op) {
  dnn_.load_plan(as<ops::DnnPlanLoad>(op));
  done_in_place(op);
}

void Device::place_dnn_plan_drop(const ops::OpHeader& op) {
  dnn_.drop_plan(as<ops::DnnPlanDrop>(op).plan);
  done_in_place(op);
}

void Device::place_dnn_execute(const ops::OpHeader& op) {
  const auto& execute = as<ops::DnnExecute>(op);
  Stream& stream = stream_of(op);
  library_call(stream, [&] {
    dnn_.execute(execute.plan, execute.workspace, tensors_of(execute), stream.real()).demand();
  });
  submitted(stream, op);
}

void Device::place_dnn_execute_try(const ops::OpHeader& op) {
  const auto& execute = as<ops::DnnExecuteTry>(op);
  answer_outcome(op, [&](const Stream& stream) {
    return dnn_.execute(execute.plan, execute.workspace, tensors_of(execute), stream.real());
  });
}

}  // namespace jitc::cuda
