// See lt_objects.h. Descriptions come from a client: nothing in them is trusted.
#include "lt_objects.h"

#include "device/cuda/driver/error.h"
#include "jitc/generated_lt.h"

namespace jitc::cuda {
namespace {

using ops::ObjectKind;
constexpr int64_t kPointerMode = 2;  // CUBLASLT_MATMUL_DESC_POINTER_MODE

void require(bool good) {
  if (!good) refuse_value("the description of a cuBLASLt object");
}

int64_t number_in(const Invocation& call, size_t at) {
  require(at < call.slots.size() && call.slots[at].is(ops::SlotKind::number));
  return call.slots[at].number();
}

void check_lt(const char* function, BlasStatus status) {
  if (status) throw LibraryFailure{status, function, {}};
}

}  // namespace

LtObjects::LtObjects(std::shared_ptr<const CublasLt> library, const Description& description)
    : library_(std::move(library)) {
  try {
    for (const ObjectView& view : description.objects()) make(view);
  } catch (...) {
    clear();
    throw;
  }
}

void LtObjects::clear() {
  for (const CallObject& one : objects_) {
    const auto destroy = one.kind == ObjectKind::lt_descriptor ? library_->cublasLtMatmulDescDestroy
                         : one.kind == ObjectKind::lt_layout   ? library_->cublasLtMatrixLayoutDestroy
                                                               : library_->cublasLtMatmulPreferenceDestroy;
    if (one.real) destroy(one.real);
  }
  objects_.clear();
}

void LtObjects::make(const ObjectView& view) {
  const uint32_t create = ops::lt_maker(view.kind).create;
  require(create && !view.calls.empty() && view.calls[0].function == create);
  const auto number = [&](size_t at) { return number_in(view.calls[0], at); };
  const auto number32 = [&](size_t at) { return static_cast<int32_t>(number(at)); };
  modes_.push_back(0);
  CallObject& object = objects_.emplace_back(CallObject{nullptr, view.kind, {}});
  if (view.kind == ObjectKind::lt_descriptor)
    check_lt("cublasLtMatmulDescCreate",
             library_->cublasLtMatmulDescCreate(&object.real, number32(0), number32(1)));
  else if (view.kind == ObjectKind::lt_layout)
    check_lt("cublasLtMatrixLayoutCreate",
             library_->cublasLtMatrixLayoutCreate(&object.real, number32(0), static_cast<uint64_t>(number(1)),
                                                  static_cast<uint64_t>(number(2)), number(3)));
  else
    check_lt("cublasLtMatmulPreferenceCreate", library_->cublasLtMatmulPreferenceCreate(&object.real));
  int64_t before = -1;
  for (const Invocation& call : std::span(view.calls).subspan(1)) {
    set(object, call);
    require(std::exchange(before, call.slots[0].number()) < call.slots[0].number());  // strictly increasing
  }
}

void LtObjects::set(CallObject& object, const Invocation& call) {
  const int64_t attribute = number_in(call, 0);
  require(call.function == ops::lt_maker(object.kind).set && call.slots.size() == 2 &&
          call.slots[1].is(ops::SlotKind::array) && attribute == static_cast<uint32_t>(attribute));
  const auto value = call.slots[1].data;
  const uint32_t bytes = ops::lt_attribute_bytes(object.kind, static_cast<uint32_t>(attribute));
  require(bytes && value.size() == bytes);
  if (object.kind == ObjectKind::lt_descriptor && attribute == kPointerMode)
    std::memcpy(&modes_.back(), value.data(), sizeof modes_.back());
  const auto apply = object.kind == ObjectKind::lt_descriptor ? library_->cublasLtMatmulDescSetAttribute
                     : object.kind == ObjectKind::lt_layout ? library_->cublasLtMatrixLayoutSetAttribute
                                                            : library_->cublasLtMatmulPreferenceSetAttribute;
  check_lt("cublasLt...SetAttribute",
           apply(object.real, static_cast<int32_t>(attribute), value.data(), bytes));
}

}  // namespace jitc::cuda
