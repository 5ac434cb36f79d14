// See lt_record.h.
#include "lt_record.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "jitc/generated_lt.h"
#include "session/message.h"

namespace jitc::api {
namespace {

template <class Record>
void append(const Record& record, std::vector<std::byte>& out) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&record);
  out.insert(out.end(), bytes, bytes + sizeof record);
}

Status refuse_attribute(int32_t attribute) {
  session::message_once("cuBLASLt: attribute " + std::to_string(attribute) +
                        " is not carried to the device: leave it unset");
  return kBlasNotSupported;
}

}  // namespace

LtRecord::LtRecord(ops::LtKind kind, std::initializer_list<int64_t> create) {
  object_.kind = static_cast<uint32_t>(kind);
  auto* into = object_.create.data();
  for (const int64_t one : create) std::memcpy(std::exchange(into, into + sizeof one), &one, sizeof one);
}

const ops::LtAttribute* LtRecord::find(int32_t attribute) const {
  for (const auto& one : attributes_)
    if (one.attribute == static_cast<uint32_t>(attribute)) return &one;
  return nullptr;
}

Status LtRecord::set(int32_t attribute, const void* value, size_t size) {
  const auto number = static_cast<uint32_t>(attribute);
  const uint32_t bytes =
      number < 0x10000 ? ops::lt_attribute_bytes(static_cast<ops::LtKind>(object_.kind), number) : 0;
  if (!bytes) return refuse_attribute(attribute);
  if (!value || size != bytes) return kBlasInvalidValue;
  auto at = std::find_if(attributes_.begin(), attributes_.end(),
                         [&](const auto& one) { return one.attribute >= number; });
  if (at == attributes_.end() || at->attribute != number) at = attributes_.insert(at, ops::LtAttribute{});
  at->attribute = number;
  at->bytes = bytes;
  std::memcpy(at->value.data(), value, bytes);
  object_.attributes = static_cast<uint32_t>(attributes_.size());
  return kSuccess;
}

Status LtRecord::get(int32_t attribute, void* value, size_t size, size_t* written) const {
  const ops::LtAttribute* one = find(attribute);
  if (!one) return kBlasNotSupported;
  if (written) *written = one->bytes;
  if (!size) return kSuccess;
  if (!value || size < one->bytes) return kBlasInvalidValue;
  std::memcpy(value, one->value.data(), one->bytes);
  return kSuccess;
}

int32_t LtRecord::number(int32_t attribute, int32_t fallback) const {
  if (const ops::LtAttribute* one = find(attribute))
    std::memcpy(&fallback, one->value.data(), sizeof fallback);
  return fallback;
}

int64_t LtRecord::argument(size_t at) const {
  int64_t value = 0;
  if (at < sizeof object_.create / sizeof value)
    std::memcpy(&value, object_.create.data() + at * sizeof value, sizeof value);
  return value;
}

void LtRecord::append_to(std::vector<std::byte>& out) const {
  append(object_, out);
  for (const auto& one : attributes_) append(one, out);
}

}  // namespace jitc::api
