// See lt_description.h. Descriptions come from a client: nothing in them is trusted.
#include "lt_description.h"

#include <cstring>

#include "device/cuda/driver/error.h"
#include "jitc/generated_lt.h"

namespace jitc::cuda {
namespace {

constexpr uint32_t kPointerMode = 2;  // CUBLASLT_MATMUL_DESC_POINTER_MODE

ops::LtKind kind_of(size_t at) {
  if (at == LtDescription::kDescriptor) return ops::LtKind::descriptor;
  return at == LtDescription::kPreference ? ops::LtKind::preference : ops::LtKind::layout;
}

/// Takes a record array off the front.
template <class Record>
std::span<const Record> take(std::span<const std::byte>& bytes, uint64_t count) {
  if (count > bytes.size() / sizeof(Record)) refuse_value("the description of a product is truncated");
  const auto* const first = reinterpret_cast<const Record*>(bytes.data());
  bytes = bytes.subspan(count * sizeof(Record));
  return {first, count};
}

/// Ascending numbers: none comes twice.
void check_attributes(ops::LtKind kind, std::span<const ops::LtAttribute> attributes) {
  int64_t before = -1;
  for (const ops::LtAttribute& one : attributes) {
    const uint32_t bytes = one.attribute < 0x10000 ? ops::lt_attribute_bytes(kind, one.attribute) : 0;
    if (!bytes || one.bytes != bytes || one.attribute <= before)
      refuse_value("attribute " + std::to_string(one.attribute) + " of a cuBLASLt object");
    before = one.attribute;
  }
}

}  // namespace

int64_t LtDescription::Item::argument(size_t at) const {
  int64_t value = 0;
  std::memcpy(&value, object->create.data() + at * sizeof value, sizeof value);
  return value;
}

LtDescription::LtDescription(std::span<const std::byte> bytes, bool with_preference) {
  for (size_t at = 0; at < (with_preference ? kItems : kPreference); ++at) {
    Item& item = items_[at];
    item.object = take<ops::LtObject>(bytes, 1).data();
    if (item.object->kind != static_cast<uint32_t>(kind_of(at))) refuse_value("the description's objects");
    item.attributes = take<ops::LtAttribute>(bytes, item.object->attributes);
    check_attributes(kind_of(at), item.attributes);
  }
  if (!bytes.empty()) refuse_value("the description of a product is too long");
}

int32_t LtDescription::pointer_mode() const {
  int32_t mode = 0;
  for (const ops::LtAttribute& one : items_[kDescriptor].attributes)
    if (one.attribute == kPointerMode) std::memcpy(&mode, one.value.data(), sizeof mode);
  return mode;
}

LtObjects::LtObjects(std::shared_ptr<const CublasLt> library, const LtDescription& description)
    : library_(std::move(library)) {
  const size_t items = description.has_preference() ? LtDescription::kItems : LtDescription::kPreference;
  for (size_t at = 0; at < items; ++at)
    if (!make(at, description.item(at))) return;
}

LtObjects::~LtObjects() {
  for (size_t at = 0; at < objects_.size(); ++at) {
    if (!objects_[at]) continue;
    if (kind_of(at) == ops::LtKind::descriptor)
      library_->cublasLtMatmulDescDestroy(objects_[at]);
    else if (kind_of(at) == ops::LtKind::layout)
      library_->cublasLtMatrixLayoutDestroy(objects_[at]);
    else
      library_->cublasLtMatmulPreferenceDestroy(objects_[at]);
  }
}

bool LtObjects::good(const char* function, BlasStatus status) {
  if (status && !status_) status_ = status, function_ = function;
  return status == 0;
}

bool LtObjects::make(size_t at, const LtDescription::Item& item) {
  const ops::LtKind kind = kind_of(at);
  void** const out = &objects_[at];
  const auto number = [&](size_t which) { return static_cast<int32_t>(item.argument(which)); };
  bool made = false;
  if (kind == ops::LtKind::descriptor)
    made = good("cublasLtMatmulDescCreate", library_->cublasLtMatmulDescCreate(out, number(0), number(1)));
  else if (kind == ops::LtKind::layout)
    made = good("cublasLtMatrixLayoutCreate", library_->cublasLtMatrixLayoutCreate(
                                                  out, number(0), static_cast<uint64_t>(item.argument(1)),
                                                  static_cast<uint64_t>(item.argument(2)), item.argument(3)));
  else
    made = good("cublasLtMatmulPreferenceCreate", library_->cublasLtMatmulPreferenceCreate(out));
  if (!made) return *out = nullptr, false;
  const auto set = kind == ops::LtKind::descriptor ? library_->cublasLtMatmulDescSetAttribute
                   : kind == ops::LtKind::layout   ? library_->cublasLtMatrixLayoutSetAttribute
                                                   : library_->cublasLtMatmulPreferenceSetAttribute;
  for (const ops::LtAttribute& one : item.attributes)
    if (!good("cublasLt...SetAttribute",
              set(*out, static_cast<int32_t>(one.attribute), one.value.data(), one.bytes)))
      return false;
  return true;
}

}  // namespace jitc::cuda
