// A cuBLASLt object as the program made it: the arguments of its creation and all attributes that were set.
//
// Kept by blaslt_objects.cpp beside what the software device needs; flattened by lt_call.cpp into the ops
// lt_heuristic and lt_matmul, from which the worker makes the same object. Promise: equal objects flatten to
// equal bytes, in whatever order their attributes were set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "api/common/status.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

class LtRecord {
 public:
  LtRecord() = default;
  LtRecord(ops::LtKind kind, std::initializer_list<int64_t> create);

  /// NOT_SUPPORTED (said once) for an attribute that does not travel, INVALID_VALUE for one of another size.
  Status set(int32_t attribute, const void* value, size_t size);
  /// As set; NOT_SUPPORTED when it was not.
  Status get(int32_t attribute, void* value, size_t size, size_t* written) const;
  bool has(int32_t attribute) const { return find(attribute) != nullptr; }
  /// A 32-bit attribute as set, or fallback.
  int32_t number(int32_t attribute, int32_t fallback) const;
  /// An argument of its creation.
  int64_t argument(size_t at) const;
  void append_to(std::vector<std::byte>& out) const;

 private:
  const ops::LtAttribute* find(int32_t attribute) const;
  ops::LtObject object_;
  std::vector<ops::LtAttribute> attributes_;  // by number
};

}  // namespace jitc::api
