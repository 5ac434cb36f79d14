// The objects of the fake cuBLASLt: descriptions, layouts and preferences are all attributes with their
// bytes. Used by objects.cpp and matmul.cpp.
#pragma once
#include <unistd.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <vector>

#include "../common/call_log.h"

namespace jitc::fakes {

enum LtStatus : int {
  kLtSuccess = 0,
  kLtNotInitialized = 1,
  kLtInvalidValue = 7,
  kLtExecutionFailed = 13,
  kLtNotSupported = 15,
};

/// cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t
enum DescriptionAttribute : int {
  kComputeType = 0,
  kScaleType = 1,
  kPointerMode = 2,
  kTransA = 3,
  kTransB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
  kBiasBatchStride = 10,
  kAuxPointer = 11,
  kAuxLeading = 12,
  kAuxBatchStride = 13,
  kBiasType = 26,
};
enum LayoutAttribute : int {
  kLayoutType = 0,
  kOrder = 1,
  kRows = 2,
  kColumns = 3,
  kLeading = 4,
  kBatchCount = 5,
  kBatchOffset = 6,
};
constexpr int kMaxWorkspace = 1;

enum class LtKind { library, description, layout, preference };

struct LtObject {
  LtKind kind;
  std::map<int, std::vector<std::byte>> attributes = {};

  /// The attribute as a number of its own size, or what it is when not set.
  int64_t number(int attribute, int64_t otherwise = 0) const;
};

struct LtFailure {
  int code;
};

/// Throws kLtInvalidValue: not a living object of that kind.
std::shared_ptr<const LtObject> object(const void* handle, LtKind kind);

template <class Body>
int lt_call(const char* name, std::initializer_list<Field> fields, Body&& body) {
  CallLine line("cublaslt", name);
  for (const Field& field : fields) line.add(field);
  int result = asked_failure(name);
  while (result == kHang) ::pause();
  try {
    if (!result) body(line);
  } catch (const LtFailure& failure) {
    result = failure.code;
  }
  line.finish(result);
  return result;
}

}  // namespace jitc::fakes
