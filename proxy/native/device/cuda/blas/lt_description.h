// The objects of a cuBLASLt product: as they travel (LtDescription) and as the library has them (LtObjects).
//
// Promises: a description that was parsed has the objects that the op asks for, in order, with attributes
// that are known, of the right size and no more than once each; none of them is a host pointer. Called by:
// lt.cpp.
#pragma once
#include <array>
#include <memory>
#include <span>

#include "blas_library.h"
#include "jitc/generated_ops.h"

namespace jitc::cuda {

class LtDescription {
 public:
  struct Item {
    const ops::LtObject* object = nullptr;
    std::span<const ops::LtAttribute> attributes;
    int64_t argument(size_t at) const;
  };
  static constexpr size_t kDescriptor = 0, kFirstLayout = 1, kPreference = 5, kItems = 6;

  /// Throws OpError. The bytes must stay.
  LtDescription(std::span<const std::byte> bytes, bool with_preference);
  const Item& item(size_t at) const { return items_[at]; }
  bool has_preference() const { return items_[kPreference].object != nullptr; }
  /// cublasLtPointerMode_t of the descriptor.
  int32_t pointer_mode() const;

 private:
  std::array<Item, kItems> items_;
};

/// The library's objects. What went wrong while they were made is kept in them.
class LtObjects {
 public:
  LtObjects(std::shared_ptr<const CublasLt> library, const LtDescription& description);
  ~LtObjects();
  LtObjects(const LtObjects&) = delete;
  LtObjects& operator=(const LtObjects&) = delete;

  BlasStatus status() const { return status_; }
  const char* function() const { return function_; }  // the one that failed
  void* descriptor() const { return objects_[LtDescription::kDescriptor]; }
  void* layout(size_t at) const { return objects_[LtDescription::kFirstLayout + at]; }
  void* preference() const { return objects_[LtDescription::kPreference]; }

 private:
  bool make(size_t at, const LtDescription::Item& item);
  bool good(const char* function, BlasStatus status);

  const std::shared_ptr<const CublasLt> library_;
  std::array<void*, LtDescription::kItems> objects_{};
  BlasStatus status_ = 0;
  const char* function_ = "";
};

}  // namespace jitc::cuda
