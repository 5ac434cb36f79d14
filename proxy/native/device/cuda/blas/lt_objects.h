// The library's objects of a cuBLASLt call, made from their description.
//
// Promises: an object has exactly the attributes that the description sets; each is known, of the right size
// and set at most once; none is a host pointer. Throws OpError for what a client may not send, LibraryFailure
// for what the library refuses. Called by: lt.cpp.
#pragma once
#include "blas_library.h"

namespace jitc::cuda {

class LtObjects {
 public:
  LtObjects(std::shared_ptr<const CublasLt> library, const Description& description);
  ~LtObjects() { clear(); }
  LtObjects(const LtObjects&) = delete;
  LtObjects& operator=(const LtObjects&) = delete;

  CallObjects all() const { return objects_; }
  /// Returns the cublasLtPointerMode_t of a descriptor.
  int32_t pointer_mode(size_t place) const { return modes_[place]; }

 private:
  void make(const ObjectView& view);
  void set(CallObject& object, const Invocation& call);
  void clear();

  const std::shared_ptr<const CublasLt> library_;
  std::vector<CallObject> objects_;
  std::vector<int32_t> modes_;
};

}  // namespace jitc::cuda
