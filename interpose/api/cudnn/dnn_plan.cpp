// See dnn_plan.h.
#include "dnn_plan.h"

#include <cstring>
#include <set>
#include <string>

#include "api/common/handles.h"
#include "api/module/images.h"
#include "api/stream/capture.h"
#include "dnn_call.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr size_t kElements = 3;  // slot of cudnnBackendSetAttribute: name, type, count, elements

/// Returns the elements of an attribute; empty: it was not set.
std::span<const std::byte> attribute(const ObjectRecord& record, int32_t name) {
  const CallSlots* set = record.find(ops::kDnnBackendSetAttribute, name);
  return set ? array_at(*set, kElements) : std::span<const std::byte>{};
}

template <class T>
std::vector<T> numbers(const ObjectRecord& record, int32_t name) {
  const auto bytes = attribute(record, name);
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

uint64_t bytes_of(const ObjectRecord& tensor) {
  const auto type = numbers<int32_t>(tensor, ops::kDnn_TENSOR_DATA_TYPE);
  uint64_t bytes = type.empty() ? 0 : dnn_element_bytes(type[0]);
  for (const int64_t size : numbers<int64_t>(tensor, ops::kDnn_TENSOR_DIMENSIONS))
    bytes *= static_cast<uint64_t>(size);
  return bytes;
}

void find_by_value(const ObjectRecord& record, std::set<const ObjectRecord*>& seen,
                   std::map<int64_t, uint64_t>& found) {
  if (!seen.insert(&record).second) return;
  const auto flag = attribute(record, ops::kDnn_TENSOR_IS_BY_VALUE);
  const auto uid = numbers<int64_t>(record, ops::kDnn_TENSOR_UNIQUE_ID);
  if (!flag.empty() && flag[0] != std::byte{0} && !uid.empty()) found[uid[0]] = bytes_of(record);
  for (const auto& call : record.calls)
    for (const auto& one : call.mentioned()) find_by_value(*one, seen, found);
}

/// Returns the description of a plan, for the node to keep.
std::vector<std::byte> description(const ObjectPointer& record) {
  CallPayload payload;
  payload.add(record);
  const uint64_t objects = payload.objects();
  std::vector<std::byte> out(sizeof objects);
  std::memcpy(out.data(), &objects, sizeof objects);
  out.insert(out.end(), payload.bytes().begin(), payload.bytes().end());
  return out;
}

Status refuse_value(uint64_t bytes) {
  session::message_once("cudnnBackendExecute: a tensor by value of " + std::to_string(bytes) +
                        " bytes is not carried to the device: only single numbers are");
  return kDnnNotSupported;
}

/// Packs one tensor of the variant pack; value_bytes: for a tensor by value, else null.
Status pack_tensor(int64_t uid, uint64_t pointer, const uint64_t* value_bytes, ops::DnnTensor* out) {
  out->uid = uid;
  if (!value_bytes) {
    out->kind = static_cast<uint32_t>(ops::SlotKind::address);
    out->bytes = sizeof pointer;
    std::memcpy(out->value.data(), &pointer, sizeof pointer);
    return kSuccess;
  }
  if (*value_bytes == 0 || *value_bytes > out->value.size()) return refuse_value(*value_bytes);
  if (!pointer) return kDnnNullPointer;
  const auto* const value = reinterpret_cast<const void*>(pointer);
  if (on_device(value)) return kDnnBadParam;
  out->kind = static_cast<uint32_t>(ops::SlotKind::scalar);
  out->bytes = static_cast<uint32_t>(*value_bytes);
  std::memcpy(out->value.data(), value, *value_bytes);
  return kSuccess;
}

Status pack_tensors(const ObjectRecord& pack, const std::map<int64_t, uint64_t>& by_value,
                    std::vector<ops::DnnTensor>* out) {
  const auto uids = numbers<int64_t>(pack, ops::kDnn_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = numbers<uint64_t>(pack, ops::kDnn_VARIANT_PACK_DATA_POINTERS);
  if (uids.size() != pointers.size()) return kDnnBadParam;
  out->resize(uids.size());
  for (size_t i = 0; i < uids.size(); ++i) {
    const auto found = by_value.find(uids[i]);
    const uint64_t* bytes = found == by_value.end() ? nullptr : &found->second;
    if (const Status status = pack_tensor(uids[i], pointers[i], bytes, &(*out)[i])) return status;
  }
  return kSuccess;
}

template <class Op>
Op execution(const StreamRef& stream, uint64_t plan, const ObjectRecord& pack, size_t count) {
  auto op = on_stream<Op>(stream.id);
  const auto workspace = numbers<uint64_t>(pack, ops::kDnn_VARIANT_PACK_WORKSPACE);
  op.plan = plan;
  op.workspace = workspace.empty() ? 0 : workspace[0];
  op.count = count;
  return op;
}

}  // namespace

DnnPlan::DnnPlan(ObjectPointer record) : record_(std::move(record)) {
  std::set<const ObjectRecord*> seen;
  find_by_value(*record_, seen, by_value_);
}

DnnPlan::~DnnPlan() {
  for (const auto& [session, loaded] : loaded_) {
    if (loaded.captured) continue;
    ops::DnnPlanDrop op;
    op.plan = loaded.plan;
    session->submit(op);
  }
}

/// Loads the plan. Two threads that come first may both name it; only one of the names is ever used.
Status DnnPlan::load(const StreamRef& stream, Loaded* out) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = loaded_.find(stream.session);
    if (found != loaded_.end()) return *out = found->second, kSuccess;
  }
  const auto bytes = description(record_);
  ops::DnnPlanLoad op;
  op.hash = hash_of(bytes);
  op.bytes = bytes.size();
  op.plan = new_handle(Kind::plan);
  if (bring_image(*stream.session, op.hash, bytes)) return kDnnInternalError;
  if (!stream.session->submit(op)) return kDnnExecutionFailed;
  const std::lock_guard lock(mutex_);
  *out = loaded_.try_emplace(stream.session, Loaded{op.plan}).first->second;
  return kSuccess;
}

void DnnPlan::note(const Session* session, bool captured) {
  const std::lock_guard lock(mutex_);
  for (auto& [one, loaded] : loaded_)
    if (one == session) (captured ? loaded.captured : loaded.accepted) = true;
}

Status DnnPlan::execute(const StreamRef& stream, const ObjectRecord& pack) {
  std::vector<ops::DnnTensor> tensors;
  if (const Status status = pack_tensors(pack, by_value_, &tensors)) return status;
  Loaded loaded;
  if (const Status status = load(stream, &loaded)) return status;
  const auto bytes = std::as_bytes(std::span(tensors));
  const bool captured = capture_of(stream).id != 0;
  if (captured && !loaded.captured) note(stream.session, true);
  if (loaded.accepted || captured) {
    const auto op = execution<ops::DnnExecute>(stream, loaded.plan, pack, tensors.size());
    return stream.session->submit(op, bytes) ? kSuccess : kDnnExecutionFailed;
  }
  const auto op = execution<ops::DnnExecuteTry>(stream, loaded.plan, pack, tensors.size());
  const Answer answer = dnn_answer(stream.session->call(op, bytes), "cudnnBackendExecute");
  if (!answer.status) note(stream.session, false);
  return answer.status;
}

}  // namespace jitc::api
