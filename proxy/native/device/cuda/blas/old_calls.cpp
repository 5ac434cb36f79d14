// See old_calls.h. Ops come from a client or a journal: nothing in them is trusted.
#include "old_calls.h"

#include <algorithm>

#include "device/cuda/driver/error.h"
#include "jitc/generated_lt.h"

namespace jitc::cuda {
namespace {

using ops::ObjectKind;
constexpr uint32_t kMostAlgorithms = 64, kResult = 96, kAlgorithm = 64;
constexpr uint32_t kProductObjects = 5;  // descriptor, A, B, C, D; a question adds a preference

template <class Record>
Record take(PackedReader& reader) {
  Record out;
  if (!reader.take(&out)) refuse_value("the op is truncated");
  return out;
}

void write_slot(CallWriter& call, const ops::BlasSlot& slot) {
  uint64_t word;
  std::memcpy(&word, slot.value.data(), sizeof word);
  const bool is_scalar = slot.kind == static_cast<uint32_t>(ops::BlasSlotKind::scalar);
  if (is_scalar ? slot.bytes < 1 || slot.bytes > slot.value.size() : slot.bytes != sizeof word)
    refuse_value("an argument of a cuBLAS call is of a wrong size");
  switch (static_cast<ops::BlasSlotKind>(slot.kind)) {
    case ops::BlasSlotKind::number:
      return call.number(static_cast<int64_t>(word));
    case ops::BlasSlotKind::address:
      return call.address(word);
    case ops::BlasSlotKind::scalar:
      return call.scalar(slot.value.data(), slot.bytes);
  }
  refuse_value("an argument of a cuBLAS call is of an unknown kind");
}

void write_object(CallWriter& out, PackedReader& reader) {
  const auto object = take<ops::LtObject>(reader);
  if (object.kind > static_cast<uint32_t>(ops::LtKind::preference)) refuse_value("the description's objects");
  const auto kind = static_cast<ObjectKind>(static_cast<uint32_t>(ObjectKind::lt_descriptor) + object.kind);
  const size_t arguments = kind == ObjectKind::lt_descriptor ? 2 : kind == ObjectKind::lt_layout ? 4 : 0;
  if (object.attributes == UINT32_MAX) refuse_value("the description's objects");
  out.object_head(kind, 1 + object.attributes);
  out.begin(ops::lt_maker(kind).create);
  for (size_t at = 0; at < arguments; ++at) {
    int64_t value;
    std::memcpy(&value, object.create.data() + at * sizeof value, sizeof value);
    out.number(value);
  }
  for (uint32_t i = 0; i < object.attributes; ++i) {
    const auto one = take<ops::LtAttribute>(reader);
    if (one.bytes > one.value.size()) refuse_value("the description's objects");
    out.begin(ops::lt_maker(kind).set);
    out.number(one.attribute);
    out.array(one.value.data(), one.bytes);
  }
}

}  // namespace

OldCall::OldCall(const ops::BlasCall& op, Payload payload) {
  PackedReader reader(payload);
  written_.begin(op.function);
  for (uint32_t i = 0; i < op.slots; ++i) write_slot(written_, take<ops::BlasSlot>(reader));
}

OldCall::OldCall(const ops::LtHeuristic& op, Payload payload) {
  if (op.bytes > payload.size()) refuse_value("the description is longer than the payload");
  write_objects(payload.first(op.bytes), kProductObjects + 1);
  const uint32_t requested = std::min(op.requested, kMostAlgorithms);
  written_.begin(ops::kLtMatmulAlgoGetHeuristic);
  for (uint32_t place = 0; place < objects_; ++place) written_.object(place);
  written_.number(requested);
  written_.result(uint64_t{requested} * kResult);
  written_.result(sizeof(int32_t));
}

OldCall::OldCall(const ops::LtMatmul& op, Payload payload) {
  PackedReader reader(payload);
  const auto alpha = take<ops::BlasSlot>(reader), beta = take<ops::BlasSlot>(reader);
  const auto algorithm = take<std::array<std::byte, kAlgorithm>>(reader);
  if (op.bytes > reader.rest().size()) refuse_value("the description is longer than the payload");
  write_objects(reader.rest().first(op.bytes), kProductObjects);
  written_.begin(ops::kLtMatmul);
  written_.object(0);
  write_slot(written_, alpha);
  written_.address(op.a), written_.object(1), written_.address(op.b), written_.object(2);
  write_slot(written_, beta);
  written_.address(op.c), written_.object(3), written_.address(op.d), written_.object(4);
  op.algorithm ? written_.array(algorithm.data(), algorithm.size()) : written_.null();
  written_.address(op.workspace), written_.number(static_cast<int64_t>(op.workspace_bytes));
}

void OldCall::write_objects(Payload description, uint32_t objects) {
  PackedReader reader(description);
  for (objects_ = 0; objects_ < objects; ++objects_) write_object(written_, reader);
  if (!reader.rest().empty()) refuse_value("the description of a product is too long");
  described_ = written_.bytes().size();
}

Lt::Request OldCall::request() const {
  return {written_.bytes().first(described_), objects_, written_.bytes().subspan(described_)};
}

CallOutcome nothing_requested() {
  constexpr BlasStatus kBlasInvalidValue = 7;
  return {kBlasInvalidValue, {}, "cublasLtMatmulAlgoGetHeuristic"};
}

std::vector<std::byte> old_answer(const CallOutcome& outcome) {
  int32_t count = 0;  // the last result; those before it are the algorithms
  const size_t algorithms = outcome.bytes.size() - std::min(outcome.bytes.size(), sizeof count);
  if (!outcome.status) std::memcpy(&count, outcome.bytes.data() + algorithms, sizeof count);
  count = std::clamp(count, 0, static_cast<int32_t>(algorithms / kResult));
  const size_t bytes = static_cast<size_t>(count) * kResult;
  std::vector<std::byte> out(sizeof outcome.status + sizeof count + bytes);
  std::memcpy(out.data(), &outcome.status, sizeof outcome.status);
  std::memcpy(out.data() + sizeof outcome.status, &count, sizeof count);
  std::copy_n(outcome.bytes.begin(), bytes, out.begin() + sizeof outcome.status + sizeof count);
  return out;
}

}  // namespace jitc::cuda
