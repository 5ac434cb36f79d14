// Descriptors of cuDNN: their table, and the functions on them that are not generated.
#include <algorithm>
#include <cstring>

#include "api/common/handles.h"
#include "api/generated/generated_api.h"
#include "dnn_call.h"
#include "jitc/packed_reader.h"

namespace jitc::api {
namespace {

using Descriptors = HandleTable<DnnDescriptor, Kind::descriptor>;
Descriptors& descriptors() {
  static auto& out = *new Descriptors;
  return out;
}

constexpr int32_t kMostDimensions = 8;

/// Copies numbers of the array: as many as there are, at most as many as requested.
void give(std::span<const std::byte> array, int32_t requested, int32_t* to) {
  const size_t wanted = static_cast<size_t>(requested) * sizeof *to;
  if (to) std::memcpy(to, array.data(), std::min(array.size(), wanted));
}

/// Returns the call that set the descriptor; nullptr: it was not set, or there is no such descriptor.
const CallSlots* find_set(ops::ObjectKind kind, uint64_t handle, uint32_t function, DnnDescriptor* out) {
  return find_descriptor(kind, handle, out) ? out->record->find(function) : nullptr;
}

/// Returns a matrix or a bias of a recurrent layer to the program; it asks for both, or only one of them.
Status take_part(const ops::DnnPart& part, uint64_t weights, uint64_t tensor, uint64_t* data) {
  if (data) *data = part.found ? weights + part.offset : 0;
  if (!part.found || !tensor) return kSuccess;
  std::array<int32_t, 2 * kMostDimensions> shape;
  static_assert(sizeof shape == sizeof part.shape);
  std::memcpy(shape.data(), part.shape.data(), sizeof shape);
  return cudnnSetTensorNdDescriptor(tensor, part.type, std::clamp(part.dimensions, 0, kMostDimensions),
                                    shape.data(), shape.data() + kMostDimensions);
}

/// Asks without the address of the weights, so that the question is asked only once.
Answer ask_parts(const StreamRef& stream, const ObjectPointer& rnn, int32_t layer, uint64_t bytes,
                 int32_t part) {
  CallSlots slots;
  slots.object(rnn);
  slots.number(layer);
  slots.number(static_cast<int64_t>(bytes));
  slots.number(part);
  slots.result(2 * sizeof(ops::DnnPart));
  CallPayload payload;
  payload.add_call(ops::kDnnGetRNNWeightParams, slots);
  return dnn_ask(stream, payload, 1, "cudnnGetRNNWeightParams");
}

}  // namespace

Status create_descriptor(ops::ObjectKind kind, uint64_t* made, int32_t type) {
  if (!made) return kDnnNullPointer;
  DnnDescriptor descriptor;
  descriptor.record = std::make_shared<ObjectRecord>();
  descriptor.record->kind = kind;
  descriptor.type = type;
  *made = descriptors().add(descriptor);
  return kSuccess;
}
Status destroy_descriptor(ops::ObjectKind kind, uint64_t gone) {
  DnnDescriptor descriptor;
  if (!gone) return kSuccess;
  if (!find_descriptor(kind, gone, &descriptor)) return kDnnBadParam;
  return descriptors().remove(gone, &descriptor) ? kSuccess : kDnnBadParam;
}
bool find_descriptor(ops::ObjectKind kind, uint64_t handle, DnnDescriptor* out) {
  return descriptors().get(handle, out) && out->kind() == kind;
}
Status change_descriptor(ops::ObjectKind kind, uint64_t handle,
                         const std::function<void(DnnDescriptor&)>& change) {
  bool found = false;
  descriptors().update(handle, [&](DnnDescriptor& one) {
    if (one.kind() != kind) return;
    if (one.record.use_count() > 1) one.record = std::make_shared<ObjectRecord>(*one.record);
    change(one);
    found = true;
  });
  return found ? kSuccess : kDnnBadParam;
}

int32_t cudnnGetTensorNdDescriptor(uint64_t asked, int32_t requested, int32_t* data_type, int32_t* dimensions,
                                   void* sizes, void* strides) {
  DnnDescriptor found;
  const CallSlots* set = find_set(ops::ObjectKind::tensor, asked, ops::kDnnSetTensorNdDescriptor, &found);
  if (!set || !data_type || !dimensions || requested < 0) return kDnnBadParam;
  *data_type = found.record->data_type;
  *dimensions = static_cast<int32_t>(found.record->sizes.size());
  give(array_at(*set, 2), requested, static_cast<int32_t*>(sizes));
  give(array_at(*set, 3), requested, static_cast<int32_t*>(strides));
  return kSuccess;
}
int32_t cudnnGetFilterNdDescriptor(uint64_t asked, int32_t requested, int32_t* data_type, int32_t* format,
                                   int32_t* dimensions, void* sizes) {
  DnnDescriptor found;
  const CallSlots* set = find_set(ops::ObjectKind::filter, asked, ops::kDnnSetFilterNdDescriptor, &found);
  if (!set || !data_type || !format || !dimensions || requested < 0) return kDnnBadParam;
  *data_type = found.record->data_type;
  *format = static_cast<int32_t>(slot_at(*set, 1).number());
  *dimensions = static_cast<int32_t>(found.record->sizes.size());
  give(array_at(*set, 3), requested, static_cast<int32_t*>(sizes));
  return kSuccess;
}

int32_t cudnnSetDropoutDescriptor(uint64_t changed, uint64_t handle, float rate, uint64_t states,
                                  size_t bytes, uint64_t seed) {
  DnnDescriptor found;
  if (!find_descriptor(ops::ObjectKind::dropout, changed, &found)) return kDnnBadParam;
  const Status status = DnnCall(handle, "cudnnSetDropoutDescriptor", ops::kDnnSetDropoutDescriptor)
                            .real(double{rate})
                            .address(states)
                            .number(bytes)
                            .number(seed)
                            .run();
  return status ? status : cudnnRestoreDropoutDescriptor(changed, handle, rate, states, bytes, seed);
}

int32_t cudnnGetRNNWeightParams(uint64_t handle, uint64_t rnn, int32_t layer, size_t weight_bytes,
                                uint64_t weights, int32_t part, uint64_t matrix, uint64_t* matrix_data,
                                uint64_t bias, uint64_t* bias_data) {
  StreamRef stream;
  DnnDescriptor found;
  if (const Status status = dnn_stream(handle, &stream)) return status;
  if (!find_descriptor(ops::ObjectKind::rnn, rnn, &found)) return kDnnBadParam;
  const Answer answer = ask_parts(stream, found.record, layer, weight_bytes, part);
  if (answer.status) return answer.status;
  std::array<ops::DnnPart, 2> parts;
  if (!unpack(answer.bytes, &parts)) return kDnnInternalError;
  const Status status = take_part(parts[0], weights, matrix, matrix_data);
  return status ? status : take_part(parts[1], weights, bias, bias_data);
}

}  // namespace jitc::api
