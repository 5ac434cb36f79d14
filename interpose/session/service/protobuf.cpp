#include "protobuf.h"

#include <cstring>

namespace jitc::session::wire {
namespace {

enum Type : uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

}  // namespace

size_t put_varint(uint8_t* out, uint64_t value) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) out[size++] = static_cast<uint8_t>(value | 0x80);
  out[size++] = static_cast<uint8_t>(value);
  return size;
}

void Writer::varint(uint64_t value) {
  uint8_t bytes[10];
  out_.append(reinterpret_cast<const char*>(bytes), put_varint(bytes, value));
}

void Writer::number(uint32_t field, uint64_t value) {
  if (value == 0) return;
  varint(field << 3 | kVarint);
  varint(value);
}

void Writer::text(uint32_t field, std::string_view value) {
  if (value.empty()) return;
  varint(field << 3 | kDelimited);
  varint(value.size());
  out_.append(value);
}

void Writer::entry(uint32_t field, std::string_view key, std::string_view value) {
  Writer one;
  one.text(1, key);
  one.text(2, value);
  text(field, one.bytes());
}

bool Reader::varint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool Reader::fixed(size_t size) {
  if (rest_.size() < size) return false;
  number_ = 0;
  std::memcpy(&number_, rest_.data(), size);
  rest_.remove_prefix(size);
  return true;
}

bool Reader::delimited() {
  uint64_t size = 0;
  if (!varint(&size) || size > rest_.size()) return false;
  bytes_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool Reader::next() {
  if (rest_.empty() || !good_) return false;
  uint64_t tag = 0;
  good_ = varint(&tag) && tag >> 3 != 0 && tag >> 32 == 0;
  if (!good_) return false;
  field_ = static_cast<uint32_t>(tag >> 3);
  bytes_ = {};
  number_ = 0;
  switch (tag & 7) {
    case kVarint:
      good_ = varint(&number_);
      break;
    case kFixed64:
      good_ = fixed(8);
      break;
    case kDelimited:
      good_ = delimited();
      break;
    case kFixed32:
      good_ = fixed(4);
      break;
    default:
      good_ = false;
  }
  return good_;
}

}  // namespace jitc::session::wire
