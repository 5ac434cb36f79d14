// See dnn.h.
#include "dnn.h"

#include <algorithm>

#include "device/cuda/driver/error.h"
#include "dropout.h"

namespace jitc::cuda {
namespace {

/// Address of a weight space when only offsets in it are requested: it is never accessed.
const auto kNowhere = reinterpret_cast<std::byte*>(uint64_t{1} << 40);
constexpr int32_t kMostDimensions = 8;

void append(std::vector<std::byte>& out, const void* from, size_t bytes) {
  const auto* const at = static_cast<const std::byte*>(from);
  out.insert(out.end(), at, at + bytes);
}

/// Returns the tensors of the plan whose values come with each execution.
std::set<int64_t> tensors_by_value(const Description& description) {
  std::set<int64_t> found;
  for (const ObjectView& object : description.objects()) {
    bool by_value = false;
    int64_t uid = 0;
    for (const Invocation& call : object.calls) {
      if (call.function != ops::kDnnBackendSetAttribute) continue;
      const auto& data = call.slots.back().data;  // the objects are made: the slots are right
      if (call.slots[0].slot.value == ops::kDnn_TENSOR_IS_BY_VALUE)
        by_value = !data.empty() && data[0] != std::byte{0};
      if (call.slots[0].slot.value == ops::kDnn_TENSOR_UNIQUE_ID && data.size() >= sizeof uid)
        std::memcpy(&uid, data.data(), sizeof uid);
    }
    if (by_value) found.insert(uid);
  }
  return found;
}

}  // namespace

Dnn::Dnn(const BackendOptions& options, ImageSource& images)
    : path_(options.libraries.path("cudnn")),
      beside_{options.libraries.path("cublaslt"), options.libraries.path("cublas"),
              options.libraries.path("nvrtc")},
      images_(images) {}

Dnn::~Dnn() {
  plans_.clear();
  objects_.reset();
  if (handle_) library_->cudnnDestroy(handle_);
}

void Dnn::open() {
  if (handle_) return;
  library_ = Cudnn::open(path_, beside_);
  check_dnn(*library_, "cudnnCreate", library_->cudnnCreate(&handle_));
  objects_ = std::make_unique<DnnObjects>(library_);
}

/// Sets the real stream for each call, since virtual streams can change theirs.
void Dnn::bind(abi::CUstream stream) {
  check_dnn(*library_, "cudnnSetStream", library_->cudnnSetStream(handle_, stream));
}

CallOutcome Dnn::call(const Request& request, abi::CUstream stream) {
  if (request.calls > 1) refuse_value("a cuDNN op has one call at most");
  const Description description(request.bytes, request.objects, request.calls == 1);
  return attempt([&](CallOutcome& outcome) {
    open();
    const Objects objects = objects_->make(description, handle_);
    if (!description.call()) return;
    bind(stream);
    invoke(*description.call(), objects, outcome);
  });
}

void Dnn::invoke(const Invocation& call, const Objects& objects, CallOutcome& outcome) {
  switch (call.function) {
    case ops::kDnnGetVersion: {
      const uint64_t version = library_->cudnnGetVersion();
      return append(outcome.bytes, &version, sizeof version);
    }
    case ops::kDnnBackendGetAttribute:
      return get_attribute(call, objects, outcome);
    case ops::kDnnGetRNNWeightParams:
      return get_weights(call, objects, outcome);
    case ops::kDnnSetDropoutDescriptor:
      return fill_states(call);
    default:
      outcome.bytes =
          cuda::invoke(*library_, library_->functions().find(call.function), handle_, handle_, call, objects);
  }
}

void Dnn::get_attribute(const Invocation& call, const Objects& objects, CallOutcome& outcome) {
  constexpr size_t kSlots = 7;  // the query, then results for the count and the elements
  const DnnQuery query = DnnObjects::query_of(call, objects, kSlots);
  const bool wanted = query.descriptors >= 0;  // else the count alone
  const bool fills = wanted && query.type == ops::kDnnType_BACKEND_DESCRIPTOR && query.requested > 0;
  const auto size = ops::dnn_attribute_bytes(query.type);
  const uint64_t bytes = fills || !wanted ? 0 : static_cast<uint64_t>(query.requested) * size;
  std::vector<std::byte> elements(bytes);
  std::byte nothing{};  // null would request the count alone
  void* const place = !wanted ? nullptr : bytes ? elements.data() : &nothing;
  int64_t count = 0;
  if (fills)
    count = objects_->fill(query);
  else
    check_dnn(*library_, "cudnnBackendGetAttribute",
              library_->cudnnBackendGetAttribute(query.asked->real(), query.attribute, query.type,
                                                 query.requested, &count, place));
  append(outcome.bytes, &count, sizeof count);
  append(outcome.bytes, elements.data(), elements.size());
}

ops::DnnPart Dnn::part_of(const DnnObject& tensor, const void* address) const {
  ops::DnnPart part;
  if (!address) return part;
  std::array<int32_t, 2 * kMostDimensions> shape{};
  static_assert(sizeof shape == sizeof part.shape);
  check_dnn(*library_, "cudnnGetTensorNdDescriptor",
            library_->cudnnGetTensorNdDescriptor(tensor.real(), kMostDimensions, &part.type, &part.dimensions,
                                                 shape.data(), shape.data() + kMostDimensions));
  part.found = 1;
  part.offset = static_cast<uint64_t>(static_cast<const std::byte*>(address) - kNowhere);
  std::memcpy(part.shape.data(), shape.data(), sizeof shape);
  return part;
}

void Dnn::get_weights(const Invocation& call, const Objects& objects, CallOutcome& outcome) {
  using ops::SlotKind;
  constexpr const char* kName = "cudnnGetRNNWeightParams";
  check_count(kName, call, 5);
  const auto number = [&](size_t at) { return value_of(kName, call, at, SlotKind::number); };
  const DnnObject& rnn = *objects[value_of(kName, call, 0, SlotKind::object)];
  if (rnn.kind() != ops::ObjectKind::rnn) refuse_value(std::string(kName) + ": a descriptor of another kind");
  const DnnObject matrix(library_, ops::ObjectKind::tensor), bias(library_, ops::ObjectKind::tensor);
  void *matrix_at = nullptr, *bias_at = nullptr;
  check_dnn(*library_, kName,
            library_->cudnnGetRNNWeightParams(handle_, rnn.real(), static_cast<int32_t>(number(1)), number(2),
                                              kNowhere, static_cast<int32_t>(number(3)), matrix.real(),
                                              &matrix_at, bias.real(), &bias_at));
  const std::array parts{part_of(matrix, matrix_at), part_of(bias, bias_at)};
  append(outcome.bytes, parts.data(), sizeof parts);
}

void Dnn::fill_states(const Invocation& call) {
  const DnnObject descriptor(library_, ops::ObjectKind::dropout);
  set_dropout(*library_, descriptor.real(), handle_, call);
}

void Dnn::load_plan(const ops::DnnPlanLoad& op) {
  if (plans_.contains(op.plan)) refuse_handle("cuDNN plan " + hex(op.plan) + " exists already");
  plans_[op.plan] = {op.hash, op.bytes, nullptr, {}};
}

void Dnn::drop_plan(uint64_t plan) {
  if (!plans_.erase(plan)) refuse_handle("cuDNN plan " + hex(plan) + " does not exist");
}

Dnn::Plan& Dnn::made(Plan& plan) {
  if (plan.object) return plan;
  std::string error;
  auto bytes = images_.image(plan.hash, plan.bytes, error);
  if (!error.empty()) refuse(kSymbolNotFound, "no-image", "the description of a cuDNN plan: " + error);
  uint64_t objects = 0;
  if (bytes.size() < sizeof objects) refuse_value("the description of a cuDNN plan is truncated");
  std::memcpy(&objects, bytes.data(), sizeof objects);
  const Description description(bytes.subspan(sizeof objects), objects, false);
  if (objects == 0) refuse_value("the description of a cuDNN plan is empty");
  open();
  plan.object = objects_->make(description, handle_).back();
  plan.by_value = tensors_by_value(description);
  if (plan.object->kind() != ops::ObjectKind::backend) refuse_value("a cuDNN plan is none");
  return plan;
}

std::unique_ptr<DnnObject> Dnn::pack(const Plan& plan, uint64_t workspace,
                                     std::span<const ops::DnnTensor> tensors) {
  auto pack = std::make_unique<DnnObject>(library_, ops::ObjectKind::backend, ops::kDnn_VARIANT_PACK);
  std::vector<int64_t> uids;
  std::vector<const void*> pointers;
  for (const ops::DnnTensor& one : tensors) {
    const bool by_value = plan.by_value.contains(one.uid);
    const auto kind = by_value ? ops::SlotKind::scalar : ops::SlotKind::address;
    if (one.kind != static_cast<uint32_t>(kind))
      refuse_value("a tensor of a cuDNN plan is not what the plan says");
    uint64_t address = 0;
    std::memcpy(&address, one.value.data(), sizeof address);
    uids.push_back(one.uid);
    pointers.push_back(by_value ? static_cast<const void*>(one.value.data())
                                : reinterpret_cast<void*>(address));
  }
  const auto set = [&](int32_t name, int32_t type, size_t count, const void* elements) {
    check_dnn(
        *library_, "cudnnBackendSetAttribute",
        library_->cudnnBackendSetAttribute(pack->real(), name, type, static_cast<int64_t>(count), elements));
  };
  set(ops::kDnn_VARIANT_PACK_UNIQUE_IDS, ops::kDnnType_INT64, uids.size(), uids.data());
  set(ops::kDnn_VARIANT_PACK_DATA_POINTERS, ops::kDnnType_VOID_PTR, pointers.size(), pointers.data());
  set(ops::kDnn_VARIANT_PACK_WORKSPACE, ops::kDnnType_VOID_PTR, 1, &workspace);
  check_dnn(*library_, "cudnnBackendFinalize", library_->cudnnBackendFinalize(pack->real()));
  return pack;
}

CallOutcome Dnn::execute(uint64_t plan, uint64_t workspace, std::span<const ops::DnnTensor> tensors,
                         abi::CUstream stream) {
  const auto found = plans_.find(plan);
  if (found == plans_.end()) refuse_handle("cuDNN plan " + hex(plan) + " does not exist");
  return attempt([&](CallOutcome& outcome) {
    const Plan& ready = made(found->second);
    bind(stream);
    const auto with = pack(ready, workspace, tensors);
    outcome.function = "cudnnBackendExecute";
    check_dnn(*library_, outcome.function,
              library_->cudnnBackendExecute(handle_, ready.object->real(), with->real()));
  });
}

void Dnn::restore(const std::vector<Resources::DnnPlan>& wanted, bool now) {
  std::map<uint64_t, Plan> old;
  old.swap(plans_);
  for (const Resources::DnnPlan& one : wanted) {
    const auto found = old.find(one.handle);
    const bool same =
        found != old.end() && found->second.hash == one.hash && found->second.bytes == one.bytes;
    plans_[one.handle] = same ? std::move(found->second) : Plan{one.hash, one.bytes, nullptr, {}};
  }
  if (!now) return;
  demand(attempt([&](CallOutcome&) {
    for (auto& [handle, plan] : plans_) made(plan);
  }));
}

}  // namespace jitc::cuda
