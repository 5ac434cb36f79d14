// See dnn_objects.h.
#include "dnn_objects.h"

#include <algorithm>

#include "base/checksum.h"
#include "device/cuda/driver/error.h"
#include "dropout.h"

namespace jitc::cuda {
namespace {

constexpr size_t kMostKept = 8192;
constexpr int64_t kMostFilled = 4096, kMostElements = 1 << 20;
constexpr uint64_t kMostAnswer = 1 << 20;  // bytes
// Slots of cudnnBackendSetAttribute, and of a query.
enum Slot : size_t { kName, kType, kCount, kElements, kSetSlots };
enum QuerySlot : size_t { kAsked, kAttribute, kOfType, kRequested, kDescriptors, kPlace, kQuerySlots };

class KeyBuilder {
 public:
  template <class T>
  void add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add_bytes(std::span<const std::byte> bytes) {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void add_text(const std::string& text) { bytes_ += text; }
  std::string key() const {
    const auto hash = hash_bytes(std::as_bytes(std::span(bytes_)));
    return {reinterpret_cast<const char*>(hash.data()), hash.size()};
  }

 private:
  std::string bytes_;
};

/// Returns the key of an object's parts: its calls, with the keys of the objects that they mention.
std::string key_of(const ObjectView& view, const std::vector<DnnObject::Pointer>& before) {
  KeyBuilder key;
  key.add(view.kind);
  for (const Invocation& call : view.calls) {
    key.add(call.function);
    key.add(call.slots.size());
    for (const SlotView& slot : call.slots) {
      key.add(slot.slot.kind);
      key.add(slot.slot.bytes);
      slot.each_place([&](uint64_t place) { key.add_text(before[place]->key()); });
      if (!slot.is(ops::SlotKind::object) && !slot.is(ops::SlotKind::objects)) key.add_bytes(slot.data);
    }
  }
  return key.key();
}

std::string key_of(const DnnQuery& query, int64_t place) {
  KeyBuilder key;
  key.add_text("query" + query.asked->key());
  for (const int64_t one :
       {int64_t{query.attribute}, int64_t{query.type}, query.requested, int64_t{query.descriptors}, place})
    key.add(one);
  return key.key();
}

[[noreturn]] void refuse_call(const char* why) {
  refuse_value(std::string("a descriptor of cuDNN's graph API ") + why);
}

int64_t number_in(const Invocation& call, size_t at) {
  if (at >= call.slots.size() || !call.slots[at].is(ops::SlotKind::number)) refuse_call("lacks a number");
  return call.slots[at].number();
}
int32_t number32_in(const Invocation& call, size_t at) {
  const int64_t value = number_in(call, at);
  if (value != static_cast<int32_t>(value)) refuse_call("has a number that does not fit in 32 bits");
  return static_cast<int32_t>(value);
}

bool is_query(const ObjectView& view) {
  return view.calls.size() == 1 && view.calls[0].function == ops::kDnnBackendGetAttribute;
}

/// Returns the type of a backend descriptor, from its first call.
int32_t backend_type(const ObjectView& view) {
  if (view.calls.empty() || view.calls[0].function != ops::kDnnBackendCreateDescriptor)
    refuse_call("is not created first");
  return number32_in(view.calls[0], 0);
}

std::vector<int32_t> extents(const Invocation& call) {
  constexpr size_t kSizes = 2;  // of cudnnSetTensorNdDescriptor
  const auto& bytes = call.slots[kSizes].data;
  std::vector<int32_t> out(bytes.size() / sizeof(int32_t));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(int32_t));
  return out;
}

}  // namespace

DnnObject::DnnObject(std::shared_ptr<const Cudnn> library, ops::ObjectKind kind, int32_t type)
    : library_(std::move(library)), kind_(kind) {
  if (kind == ops::ObjectKind::backend)
    check_dnn(*library_, "cudnnBackendCreateDescriptor",
              library_->cudnnBackendCreateDescriptor(type, &real_));
  else
    check_dnn(*library_, "cudnnCreate...Descriptor", library_->maker(kind).create(&real_));
}

DnnObject::~DnnObject() {
  if (!real_) return;
  if (kind_ == ops::ObjectKind::backend)
    library_->cudnnBackendDestroyDescriptor(real_);
  else
    library_->maker(kind_).destroy(real_);
}

std::vector<std::byte> invoke(const Cudnn& library, const CallFunction& function, void* first, void* handle,
                              const Invocation& call, const std::vector<DnnObject::Pointer>& objects) {
  std::vector<CallObject> views;
  for (const auto& one : objects) views.push_back({one->real(), one->kind(), one->sizes()});
  check_slots(function, call, views);
  CallArguments arguments(first, handle, nullptr, call, views);
  check_dnn(library, function.name, library.functions().call(function, arguments));
  return arguments.results();
}

DnnObject::Pointer DnnObjects::find(const std::string& key) const {
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : found->second;
}

/// Clears a full table, which only costs time.
void DnnObjects::make_room(size_t objects) {
  if (kept_.size() + objects > kMostKept) kept_.clear();
}

std::vector<DnnObject::Pointer> DnnObjects::make(const Description& description, void* handle) {
  Objects made;
  for (const ObjectView& view : description.objects()) made.push_back(make_one(view, made, handle));
  return made;
}

DnnObject::Pointer DnnObjects::make_one(const ObjectView& view, const Objects& before, void* handle) {
  if (static_cast<size_t>(view.kind) >= Cudnn::kKinds) refuse_call("is one of another library");
  if (is_query(view)) return filled(view, before);
  const std::string key = key_of(view, before);
  if (auto known = find(key)) return known;
  const bool backend = view.kind == ops::ObjectKind::backend;
  const auto made = std::make_shared<DnnObject>(library_, view.kind, backend ? backend_type(view) : 0);
  made->key_ = key;
  for (const Invocation& call : view.calls) {
    backend ? set_backend(*made, call, before, handle) : set(*made, call, before, handle);
    for (const SlotView& slot : call.slots)
      slot.each_place([&](uint64_t place) { made->made_of_.push_back(before[place]); });
  }
  make_room(1);
  return kept_.emplace(key, made).first->second;
}

void DnnObjects::set(DnnObject& object, const Invocation& call, const Objects& before, void* handle) const {
  if (without_dropout(call)) return set_dropout(*library_, object.real(), handle, call);
  const CallFunction& function = library_->functions().find(call.function, object.kind());
  invoke(*library_, function, object.real(), handle, call, before);
  if (call.function == ops::kDnnSetTensorNdDescriptor) object.sizes_ = extents(call);
}

void DnnObjects::set_backend(DnnObject& object, const Invocation& call, const Objects& before,
                             void* handle) const {
  switch (call.function) {
    case ops::kDnnBackendCreateDescriptor:
      return;
    case ops::kDnnBackendSetAttribute:
      return set_attribute(object, call, before, handle);
    case ops::kDnnBackendFinalize:
      return check_dnn(*library_, "cudnnBackendFinalize", library_->cudnnBackendFinalize(object.real()));
    default:
      refuse_call("has a call that does not make it");
  }
}

void DnnObjects::set_attribute(DnnObject& object, const Invocation& call, const Objects& before,
                               void* handle) const {
  const int32_t name = number32_in(call, kName), type = number32_in(call, kType);
  const int64_t count = number_in(call, kCount);
  const uint64_t bytes = ops::dnn_attribute_bytes(type);
  // An address would be one of the client's process.
  if (call.slots.size() != kSetSlots || !bytes || count < 0 || count > kMostElements ||
      type == ops::kDnnType_VOID_PTR)
    refuse_call("has an attribute that cannot travel");
  const SlotView& slot = call.slots[kElements];
  std::vector<void*> pointers;
  const void* elements = slot.data.data();
  if (type == ops::kDnnType_BACKEND_DESCRIPTOR && slot.is(ops::SlotKind::objects)) {
    slot.each_place([&](uint64_t place) {
      if (before[place]->kind() != ops::ObjectKind::backend) refuse_call("mentions one of another API");
      pointers.push_back(before[place]->real());
    });
    elements = pointers.data();
  } else if (type == ops::kDnnType_HANDLE && slot.is(ops::SlotKind::handle)) {
    elements = &handle;
  } else if (!slot.is(ops::SlotKind::array) || type == ops::kDnnType_BACKEND_DESCRIPTOR ||
             type == ops::kDnnType_HANDLE) {
    refuse_call("has an attribute of another type than its value");
  }
  const uint64_t there = slot.is(ops::SlotKind::handle) ? bytes : slot.data.size();
  if (there != static_cast<uint64_t>(count) * bytes) refuse_call("has an attribute of another size");
  check_dnn(*library_, "cudnnBackendSetAttribute",
            library_->cudnnBackendSetAttribute(object.real(), name, type, count, elements));
}

DnnQuery DnnObjects::query_of(const Invocation& call, const Objects& objects, size_t slots) {
  if (call.slots.size() != slots || !call.slots[kAsked].is(ops::SlotKind::object)) refuse_call("asks nobody");
  DnnQuery query{objects.at(call.slots[kAsked].slot.value), number32_in(call, kAttribute),
                 number32_in(call, kOfType), number_in(call, kRequested), number32_in(call, kDescriptors)};
  const uint64_t size = ops::dnn_attribute_bytes(query.type);
  const bool known = size && query.type != ops::kDnnType_HANDLE && query.type != ops::kDnnType_VOID_PTR;
  if (!known || query.asked->kind() != ops::ObjectKind::backend || query.requested < 0 ||
      query.requested > kMostElements || static_cast<uint64_t>(query.requested) * size > kMostAnswer)
    refuse_call("is asked for what cannot travel");
  return query;
}

int64_t DnnObjects::fill(const DnnQuery& query) {
  if (query.requested > kMostFilled) refuse_call("is asked for too many others");
  std::vector<std::shared_ptr<DnnObject>> made;
  std::vector<void*> pointers;
  for (int64_t place = 0; place < query.requested; ++place) {
    made.push_back(std::make_shared<DnnObject>(library_, ops::ObjectKind::backend, query.descriptors));
    made.back()->key_ = key_of(query, place);
    made.back()->made_of_.push_back(query.asked);
    pointers.push_back(made.back()->real());
  }
  int64_t count = 0;
  check_dnn(*library_, "cudnnBackendGetAttribute",
            library_->cudnnBackendGetAttribute(query.asked->real(), query.attribute, query.type,
                                               query.requested, &count, pointers.data()));
  made.resize(static_cast<size_t>(std::clamp(count, int64_t{0}, query.requested)));
  make_room(made.size());
  for (auto& one : made) kept_.try_emplace(one->key(), one);
  return count;
}

/// Returns the cached result of a query; asks again if it is not cached any more.
DnnObject::Pointer DnnObjects::filled(const ObjectView& view, const Objects& before) {
  const DnnQuery query = query_of(view.calls[0], before, kQuerySlots);
  const std::string key = key_of(query, number_in(view.calls[0], kPlace));
  if (auto known = find(key)) return known;
  if (query.type != ops::kDnnType_BACKEND_DESCRIPTOR) refuse_call("is no descriptor");
  fill(query);
  if (auto known = find(key)) return known;
  refuse_call("is not among those that the library gives now");
}

}  // namespace jitc::cuda
