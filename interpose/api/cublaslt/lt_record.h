// Record of a cuBLASLt object as the program made it: the arguments of its creation and all attributes set.
//
// blaslt_objects.cpp keeps it beside the software device's data; lt_call.cpp writes it as the calls that make
// the same object in the worker. Promise: equal objects become equal bytes, in any order of setting their
// attributes.
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

  /// Sets an attribute. NOT_SUPPORTED (reported once) if it cannot be sent, INVALID_VALUE for another size.
  Status set(int32_t attribute, const void* value, size_t size);
  /// Returns an attribute as set; NOT_SUPPORTED when it was not.
  Status get(int32_t attribute, void* value, size_t size, size_t* written) const;
  bool has(int32_t attribute) const { return find(attribute) != nullptr; }
  /// Returns a 32-bit attribute as set, or fallback.
  int32_t number(int32_t attribute, int32_t fallback) const;
  /// Returns an argument of its creation.
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
