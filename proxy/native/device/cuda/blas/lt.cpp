// See lt.h.
#include "lt.h"

#include "device/cuda/driver/error.h"
#include "jitc/generated_lt.h"

namespace jitc::cuda {
namespace {

constexpr size_t kMostKept = 512;
// cublasLtPointerMode_t
constexpr int32_t kModeHost = 0, kModeAlphaDeviceBetaHost = 4;

/// Checks that the scalars of a product are where its descriptor says.
void check_scalars(const Invocation& call, const LtObjects& objects) {
  constexpr size_t kDescriptor = 0, kAlpha = 1, kBeta = 6;
  const int32_t mode = objects.pointer_mode(call.slots[kDescriptor].slot.value);
  if (mode < kModeHost || mode > kModeAlphaDeviceBetaHost) refuse_value("the pointer mode of a product");
  const bool alpha_on_host = mode == kModeHost,
             beta_on_host = alpha_on_host || mode == kModeAlphaDeviceBetaHost;
  if (call.slots[kAlpha].is(ops::SlotKind::scalar) != alpha_on_host ||
      call.slots[kBeta].is(ops::SlotKind::scalar) != beta_on_host)
    refuse_value("alpha or beta is not what the pointer mode says");
}

}  // namespace

Lt::~Lt() {
  kept_.clear();
  if (handle_) library_->cublasLtDestroy(handle_);
}

void Lt::open() {
  if (handle_) return;
  library_ = CublasLt::open(path_);
  check_blas("cublasLtCreate", library_->cublasLtCreate(&handle_));
}

/// Returns the request's objects. A full table is cleared, which only costs time.
std::shared_ptr<const LtObjects> Lt::objects_of(const Request& request, bool keep) {
  std::string_view key(reinterpret_cast<const char*>(request.described.data()), request.described.size());
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
  const Description description(request.described, request.objects, false);
  const auto made = std::make_shared<const LtObjects>(library_, description);
  if (!keep) return made;
  if (kept_.size() >= kMostKept) kept_.clear();
  return kept_.emplace(key, made).first->second;
}

CallOutcome Lt::call(const Request& request, abi::CUstream stream, bool product) {
  const Invocation call = read_call(request.call, request.objects);
  if (product != (call.function == ops::kLtMatmul)) refuse_value("a question is no product");
  open();
  const CallFunction& function = library_->functions().find(call.function);
  return attempt([&](CallOutcome& outcome) {
    const auto objects = objects_of(request, product);
    // The same bytes may claim another number of objects.
    if (objects->all().size() != request.objects)
      refuse_value("the description of a call is of other objects");
    check_slots(function, call, objects->all());
    if (product) check_scalars(call, *objects);
    CallArguments arguments(handle_, handle_, stream, call, objects->all());
    outcome.function = function.name;
    outcome.status = library_->functions().call(function, arguments);
    if (!outcome.status) outcome.bytes = arguments.results();
  });
}

}  // namespace jitc::cuda
