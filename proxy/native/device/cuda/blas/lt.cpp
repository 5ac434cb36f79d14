// See lt.h.
#include "lt.h"

#include <algorithm>
#include <cstring>

#include "blas_invoke.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {

constexpr size_t kMostKept = 512;
constexpr uint32_t kMostAlgorithms = 64;
// cublasLtPointerMode_t
constexpr int32_t kModeHost = 0, kModeAlphaDeviceBetaHost = 4;

/// cublasLtMatmulAlgo_t
struct Algorithm {
  uint64_t data[8];
};
/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  BlasStatus state;
  float waves;
  int32_t reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

std::vector<std::byte> packed_answer(BlasStatus status, std::span<const Heuristic> found) {
  const auto count = static_cast<uint32_t>(found.size());
  std::vector<std::byte> out(sizeof status + sizeof count + found.size_bytes());
  std::memcpy(out.data(), &status, sizeof status);
  std::memcpy(out.data() + sizeof status, &count, sizeof count);
  if (count) std::memcpy(out.data() + sizeof status + sizeof count, found.data(), found.size_bytes());
  return out;
}

/// alpha or beta as the library takes it: the value in memory of our own, or an address on the device.
class LtScalar {
 public:
  LtScalar(const ops::BlasSlot& slot, bool on_host) {
    const auto kind = on_host ? ops::BlasSlotKind::scalar : ops::BlasSlotKind::address;
    if (slot.kind != static_cast<uint32_t>(kind))
      refuse_value("alpha or beta is not what the pointer mode says");
    own_ = slot.value;
    pointer_ = on_host ? own_.data() : slot_address(slot);
  }
  LtScalar(const LtScalar&) = delete;
  LtScalar& operator=(const LtScalar&) = delete;
  const void* pointer() const { return pointer_; }

 private:
  alignas(16) std::array<uint8_t, 16> own_{};
  const void* pointer_ = nullptr;
};

/// What comes before the description in lt_matmul's payload.
struct MatmulHead {
  ops::BlasSlot alpha, beta;
  Algorithm algorithm;
};
static_assert(sizeof(MatmulHead) == 112);

void* device(uint64_t address) { return reinterpret_cast<void*>(address); }

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

std::vector<std::byte> Lt::heuristic(const ops::LtHeuristic& op, std::span<const std::byte> payload) {
  if (op.bytes > payload.size()) refuse_value("the description is longer than the payload");
  const LtDescription description(payload.first(op.bytes), true);
  if (op.requested == 0) return packed_answer(kBlasInvalidValue, {});
  open();
  const LtObjects objects(library_, description);
  if (objects.status()) return packed_answer(objects.status(), {});
  std::vector<Heuristic> found(std::min(op.requested, kMostAlgorithms));
  int32_t count = 0;
  const BlasStatus status = library_->cublasLtMatmulAlgoGetHeuristic(
      handle_, objects.descriptor(), objects.layout(0), objects.layout(1), objects.layout(2),
      objects.layout(3), objects.preference(), static_cast<int32_t>(found.size()), found.data(), &count);
  found.resize(status ? 0 : static_cast<size_t>(std::clamp(count, 0, static_cast<int32_t>(found.size()))));
  return packed_answer(status, found);
}

/// Full: all are made again, which only costs time.
std::shared_ptr<const LtObjects> Lt::objects_of(std::span<const std::byte> bytes,
                                                const LtDescription& description) {
  const std::string_view key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
  const auto made = std::make_shared<const LtObjects>(library_, description);
  check_blas(made->function(), made->status());
  if (kept_.size() >= kMostKept) kept_.clear();
  return kept_.emplace(key, made).first->second;
}

void Lt::matmul(const ops::LtMatmul& op, std::span<const std::byte> payload, abi::CUstream stream) {
  if (payload.size() < sizeof(MatmulHead) || op.bytes > payload.size() - sizeof(MatmulHead))
    refuse_value("the description is longer than the payload");
  MatmulHead head;
  std::memcpy(&head, payload.data(), sizeof head);
  const auto bytes = payload.subspan(sizeof head, op.bytes);
  const LtDescription description(bytes, false);
  const int32_t mode = description.pointer_mode();
  if (mode < kModeHost || mode > kModeAlphaDeviceBetaHost) refuse_value("the pointer mode of a product");
  const LtScalar alpha(head.alpha, mode == kModeHost);
  const LtScalar beta(head.beta, mode == kModeHost || mode == kModeAlphaDeviceBetaHost);
  open();
  const auto objects = objects_of(bytes, description);
  check_blas("cublasLtMatmul",
             library_->cublasLtMatmul(handle_, objects->descriptor(), alpha.pointer(), device(op.a),
                                      objects->layout(0), device(op.b), objects->layout(1), beta.pointer(),
                                      device(op.c), objects->layout(2), device(op.d), objects->layout(3),
                                      op.algorithm ? &head.algorithm : nullptr, device(op.workspace),
                                      op.workspace_bytes, stream));
}

}  // namespace jitc::cuda
