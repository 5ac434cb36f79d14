// Graph API of cuDNN: descriptors with typed attributes, sent unchanged.
//
// A descriptor is sent when it is finalized, to learn whether the library accepts it, and again with each
// descriptor that mentions it; variant packs are never sent. A descriptor filled by a query is remembered as
// that query.
#include <cstring>
#include <string>

#include "api/generated/generated_api.h"
#include "dnn_call.h"
#include "dnn_plan.h"
#include "session/message.h"

namespace jitc::api {
namespace {

using ops::ObjectKind;
constexpr int64_t kMostElements = 1 << 20, kMostAnswer = 1 << 20;  // the latter in bytes

bool is_pack(const DnnDescriptor& one) { return one.type == ops::kDnn_VARIANT_PACK; }

/// Refuses attributes of a variant pack that an execution does not carry.
Status check_pack_attribute(int32_t attribute) {
  for (const int32_t known : {ops::kDnn_VARIANT_PACK_UNIQUE_IDS, ops::kDnn_VARIANT_PACK_DATA_POINTERS,
                              ops::kDnn_VARIANT_PACK_WORKSPACE})
    if (attribute == known) return kSuccess;
  session::message_once("cudnnBackendSetAttribute: attribute " + std::to_string(attribute) +
                        " of a variant pack is not carried to the device: make a plan for each shape");
  return kDnnNotSupported;
}

/// Collects the records of the descriptors in an array of the program.
Status mentioned(const void* elements, int64_t count, std::vector<ObjectPointer>* out) {
  const auto* const handles = static_cast<const uint64_t*>(elements);
  for (int64_t i = 0; i < count; ++i) {
    DnnDescriptor child;
    if (!find_descriptor(ObjectKind::backend, handles[i], &child)) return kDnnBadParam;
    if (!child.finalized) return kDnnNotFinalized;
    out->push_back(child.record);
  }
  return kSuccess;
}

/// Packs the elements of an attribute as a slot.
Status pack_elements(CallSlots& slots, const DnnDescriptor& of, int32_t type, int64_t count,
                     const void* elements) {
  const uint64_t bytes = ops::dnn_attribute_bytes(type);
  if (!bytes) return kDnnAttributeType;
  if (type == ops::kDnnType_BACKEND_DESCRIPTOR) {
    std::vector<ObjectPointer> children;
    const Status status = mentioned(elements, count, &children);
    if (!status) slots.objects(std::move(children));
    return status;
  }
  if (type == ops::kDnnType_HANDLE) {
    DnnHandle handle;
    if (count != 1 || !find_dnn(*static_cast<const uint64_t*>(elements), &handle)) return kDnnBadParam;
    return slots.handle(), kSuccess;
  }
  // Only a variant pack has device addresses; any other would be an address of this process.
  if (type == ops::kDnnType_VOID_PTR && !is_pack(of)) return kDnnNotSupported;
  slots.array(elements, static_cast<uint64_t>(count) * bytes);
  return kSuccess;
}

StreamRef here(Status* status) { return {current_session(status), 0, current_device()}; }

/// Returns the question of cudnnBackendGetAttribute to a worker, which makes descriptors of that type.
CallSlots question(const ObjectPointer& asked, int32_t name, int32_t type, int64_t requested,
                   int32_t descriptors) {
  CallSlots slots;
  slots.object(asked);
  slots.number(name);
  slots.number(type);
  slots.number(requested);
  slots.number(descriptors);
  return slots;
}

/// Records each descriptor that a query filled as that query and its index in the answer.
Status fill_descriptors(const CallSlots& query, int64_t count, const uint64_t* elements) {
  for (int64_t i = 0; i < count; ++i) {
    CallSlots call = query;
    call.number(i);
    const Status status = change_descriptor(ObjectKind::backend, elements[i], [&](DnnDescriptor& one) {
      one.record->calls.clear();
      one.record->repeat(ops::kDnnBackendGetAttribute, call);
      one.finalized = true;
    });
    if (status) return status;
  }
  return kSuccess;
}

/// Returns the common kind of the descriptors to be filled; -1: they differ.
int32_t common_type(const uint64_t* elements, int64_t count) {
  int32_t type = -1;
  for (int64_t i = 0; i < count; ++i) {
    DnnDescriptor one;
    if (!find_descriptor(ObjectKind::backend, elements[i], &one)) return -1;
    if (i && one.type != type) return -1;
    type = one.type;
  }
  return type;
}

Status get(const DnnDescriptor& asked, int32_t name, int32_t type, int64_t requested, int64_t* count,
           void* elements) {
  Status status = kSuccess;
  const StreamRef stream = here(&status);
  if (!stream.session) return kDnnNotInitialized;
  constexpr int32_t kCountAlone = -1;
  const bool fills = type == ops::kDnnType_BACKEND_DESCRIPTOR && requested > 0 && elements;
  const auto* const handles = static_cast<const uint64_t*>(elements);
  const int32_t descriptors = fills ? common_type(handles, requested) : elements ? 0 : kCountAlone;
  if (fills && descriptors < 0) return kDnnBadParam;
  const CallSlots query = question(asked.record, name, type, requested, descriptors);
  const auto size = ops::dnn_attribute_bytes(type);
  const uint64_t bytes = fills || !elements ? 0 : static_cast<uint64_t>(requested) * size;
  CallSlots call = query;
  call.result(sizeof *count);
  call.result(bytes);
  CallPayload payload;
  payload.add_call(ops::kDnnBackendGetAttribute, call);
  const Answer answer = dnn_ask(stream, payload, 1, "cudnnBackendGetAttribute");
  int64_t found = 0;
  if (answer.status) return answer.status;
  if (answer.bytes.size() < sizeof found + bytes) return kDnnInternalError;
  std::memcpy(&found, answer.bytes.data(), sizeof found);
  if (count) *count = found;
  const int64_t given = std::min(found, requested);
  if (fills) return fill_descriptors(query, given, handles);
  if (given > 0 && bytes)
    std::memcpy(elements, answer.bytes.data() + sizeof found, static_cast<size_t>(given) * size);
  return kSuccess;
}

/// Returns whether the library accepts the descriptor.
Status try_to_make(const ObjectPointer& record) {
  Status status = kSuccess;
  const StreamRef stream = here(&status);
  if (!stream.session) return kDnnNotInitialized;
  CallPayload payload;
  payload.add(record);
  return dnn_ask(stream, payload, 0, "cudnnBackendFinalize").status;
}

}  // namespace

int32_t cudnnBackendCreateDescriptor(int32_t kind, uint64_t* made) {
  const Status status = create_descriptor(ObjectKind::backend, made, kind);
  if (status) return status;
  CallSlots slots;
  slots.number(kind);
  return change_descriptor(ObjectKind::backend, *made, [&](DnnDescriptor& one) {
    one.record->repeat(ops::kDnnBackendCreateDescriptor, std::move(slots));
  });
}
int32_t cudnnBackendDestroyDescriptor(uint64_t gone) { return destroy_descriptor(ObjectKind::backend, gone); }

int32_t cudnnBackendSetAttribute(uint64_t changed, int32_t attribute, int32_t type, int64_t count,
                                 const void* elements) {
  DnnDescriptor found;
  if (!find_descriptor(ObjectKind::backend, changed, &found) || found.finalized) return kDnnBadParam;
  if (count < 0 || count > kMostElements) return kDnnBadParam;
  if (count && !elements) return kDnnNullPointer;
  if (is_pack(found))
    if (const Status status = check_pack_attribute(attribute)) return status;
  CallSlots slots;
  slots.number(attribute);
  slots.number(type);
  slots.number(count);
  if (const Status status = pack_elements(slots, found, type, count, elements)) return status;
  found = {};  // else its record would have two owners
  return change_descriptor(ObjectKind::backend, changed, [&](DnnDescriptor& one) {
    one.record->repeat(ops::kDnnBackendSetAttribute, std::move(slots), attribute);
  });
}

int32_t cudnnBackendGetAttribute(uint64_t asked, int32_t attribute, int32_t type, int64_t requested,
                                 int64_t* count, void* elements) {
  DnnDescriptor found;
  if (!find_descriptor(ObjectKind::backend, asked, &found) || requested < 0 || requested > kMostElements)
    return kDnnBadParam;
  if (!found.finalized) return kDnnNotInitialized;
  const int64_t size = ops::dnn_attribute_bytes(type);
  if (!size) return kDnnAttributeType;
  if (requested * size > kMostAnswer) return kDnnBadParam;
  // A handle or an address of the worker's process would be useless here.
  if (is_pack(found) || type == ops::kDnnType_HANDLE || type == ops::kDnnType_VOID_PTR)
    return kDnnNotSupported;
  return get(found, attribute, type, requested, count, elements);
}

int32_t cudnnBackendFinalize(uint64_t changed) {
  DnnDescriptor found;
  if (!find_descriptor(ObjectKind::backend, changed, &found) || found.finalized) return kDnnBadParam;
  const auto record = std::make_shared<ObjectRecord>(*found.record);
  record->repeat(ops::kDnnBackendFinalize, {});
  const Status status = is_pack(found) ? kSuccess : try_to_make(record);
  if (status) return status;
  const bool is_plan = found.type == ops::kDnn_EXECUTION_PLAN;
  return change_descriptor(ObjectKind::backend, changed, [&](DnnDescriptor& one) {
    one.record = record;
    one.finalized = true;
    if (is_plan) one.plan = std::make_shared<DnnPlan>(record);
  });
}

int32_t cudnnBackendExecute(uint64_t handle, uint64_t plan, uint64_t pack) {
  StreamRef stream;
  DnnDescriptor found, with;
  if (const Status status = dnn_stream(handle, &stream)) return status;
  if (!find_descriptor(ObjectKind::backend, plan, &found) ||
      !find_descriptor(ObjectKind::backend, pack, &with))
    return kDnnBadParam;
  if (!found.finalized || !with.finalized) return kDnnNotFinalized;
  if (!found.plan || !is_pack(with)) return kDnnBadParam;
  return found.plan->execute(stream, *with.record);
}

}  // namespace jitc::api
