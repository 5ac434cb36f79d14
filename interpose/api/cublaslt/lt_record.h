// A cuBLASLt object as the program made it: the arguments of its creation and all attributes that were set.
//
// Kept by blaslt_objects.cpp beside what the software device needs; written by lt_call.cpp as the calls that
// make the same object in the worker. Promise: equal objects become equal bytes, in whatever order their
// attributes were set.
#pragma once
#include <array>
#include <initializer_list>
#include <vector>

#include "api/common/status.h"
#include "jitc/call_slots.h"
#include "jitc/generated_lt.h"

namespace jitc::api {

class LtRecord {
 public:
  LtRecord() = default;
  LtRecord(ops::ObjectKind kind, std::initializer_list<int64_t> create);

  /// NOT_SUPPORTED (said once) for an attribute that does not travel, INVALID_VALUE for one of another size.
  Status set(int32_t attribute, const void* value, size_t size);
  /// As set; NOT_SUPPORTED when it was not.
  Status get(int32_t attribute, void* value, size_t size, size_t* written) const;
  bool has(int32_t attribute) const { return find(attribute) != nullptr; }
  /// A 32-bit attribute as set, or fallback.
  int32_t number(int32_t attribute, int32_t fallback) const;
  /// An argument of its creation.
  int64_t argument(size_t at) const;
  void write_to(CallWriter& out) const;

 private:
  struct Attribute {
    uint32_t number, bytes;
    std::array<std::byte, ops::kLtWidestAttribute> value;
  };
  const Attribute* find(int32_t attribute) const;
  ops::ObjectKind kind_{};
  std::array<int64_t, 4> create_{};
  size_t arguments_ = 0;               // of create_
  std::vector<Attribute> attributes_;  // by number
};

}  // namespace jitc::api
