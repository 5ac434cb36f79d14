// See lt_record.h.
#include "lt_record.h"

#include <algorithm>
#include <cstring>

#include "session/message.h"

namespace jitc::api {
namespace {

Status refuse_attribute(int32_t attribute) {
  session::message_once("cuBLASLt: attribute " + std::to_string(attribute) +
                        " is not carried to the device: leave it unset");
  return kBlasNotSupported;
}

}  // namespace

LtRecord::LtRecord(ops::ObjectKind kind, std::initializer_list<int64_t> create)
    : kind_(kind), arguments_(create.size()) {
  std::copy(create.begin(), create.end(), create_.begin());
}

const LtRecord::Attribute* LtRecord::find(int32_t attribute) const {
  for (const auto& one : attributes_)
    if (one.number == static_cast<uint32_t>(attribute)) return &one;
  return nullptr;
}

Status LtRecord::set(int32_t attribute, const void* value, size_t size) {
  const auto number = static_cast<uint32_t>(attribute);
  const uint32_t bytes = ops::lt_attribute_bytes(kind_, number);
  if (!bytes) return refuse_attribute(attribute);
  if (!value || size != bytes) return kBlasInvalidValue;
  auto at = std::find_if(attributes_.begin(), attributes_.end(),
                         [&](const auto& one) { return one.number >= number; });
  if (at == attributes_.end() || at->number != number) at = attributes_.insert(at, {number, bytes, {}});
  std::memcpy(at->value.data(), value, bytes);
  return kSuccess;
}

Status LtRecord::get(int32_t attribute, void* value, size_t size, size_t* written) const {
  const Attribute* one = find(attribute);
  if (!one) return kBlasNotSupported;
  if (written) *written = one->bytes;
  if (!size) return kSuccess;
  if (!value || size < one->bytes) return kBlasInvalidValue;
  std::memcpy(value, one->value.data(), one->bytes);
  return kSuccess;
}

int32_t LtRecord::number(int32_t attribute, int32_t fallback) const {
  if (const Attribute* one = find(attribute)) std::memcpy(&fallback, one->value.data(), sizeof fallback);
  return fallback;
}

int64_t LtRecord::argument(size_t at) const { return create_.at(at); }

void LtRecord::write_to(CallWriter& out) const {
  const ops::LtMaker maker = ops::lt_maker(kind_);
  out.object_head(kind_, static_cast<uint32_t>(1 + attributes_.size()));
  out.begin(maker.create);
  for (size_t at = 0; at < arguments_; ++at) out.number(create_[at]);
  for (const Attribute& one : attributes_) {
    out.begin(maker.set);
    out.number(one.number);
    out.array(one.value.data(), one.bytes);
  }
}

}  // namespace jitc::api
