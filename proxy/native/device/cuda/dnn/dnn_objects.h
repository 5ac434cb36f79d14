// Real cuDNN descriptors, made from descriptions and cached by their content.
//
// Promises: a repeated description makes nothing; the parts of an object live as long as it does; the cache
// is bounded. Throws OpError for what a client may not send, LibraryFailure for what the library refuses.
// Called by: Dnn.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/call/description.h"
#include "dnn_library.h"

namespace jitc::cuda {

class DnnObject {
 public:
  using Pointer = std::shared_ptr<const DnnObject>;
  /// Makes an empty descriptor; type: cudnnBackendDescriptorType_t of a backend one.
  DnnObject(std::shared_ptr<const Cudnn> library, ops::ObjectKind kind, int32_t type = 0);
  ~DnnObject();
  DnnObject(const DnnObject&) = delete;
  DnnObject& operator=(const DnnObject&) = delete;

  ops::ObjectKind kind() const { return kind_; }
  void* real() const { return real_; }
  const std::string& key() const { return key_; }
  /// Returns the extents of a tensor.
  const std::vector<int32_t>& sizes() const { return sizes_; }

 private:
  friend class DnnObjects;
  const std::shared_ptr<const Cudnn> library_;
  const ops::ObjectKind kind_;
  void* real_ = nullptr;
  std::string key_;
  std::vector<int32_t> sizes_;
  std::vector<Pointer> made_of_;
};

/// Makes the call, which sets `first`, or nothing if that is the handle; returns its results, one after the
/// other. Throws OpError unless the slots fit the function, LibraryFailure if the library refuses.
std::vector<std::byte> invoke(const Cudnn& library, const CallFunction& function, void* first, void* handle,
                              const Invocation& call, const std::vector<DnnObject::Pointer>& objects);

/// Query that fills descriptors (cudnnBackendGetAttribute).
struct DnnQuery {
  DnnObject::Pointer asked;
  int32_t attribute, type;
  int64_t requested;
  int32_t descriptors;  // cudnnBackendDescriptorType_t of those to be filled; -1: none, only counted
};

class DnnObjects {
 public:
  explicit DnnObjects(std::shared_ptr<const Cudnn> library) : library_(std::move(library)) {}

  /// Makes all objects of the description, in its order.
  std::vector<DnnObject::Pointer> make(const Description& description, void* handle);
  /// Runs the query and keeps the filled descriptors. Returns how many exist: may be more than requested.
  int64_t fill(const DnnQuery& query);
  /// Reads a query from the first slots of a call, of which there are `slots`.
  static DnnQuery query_of(const Invocation& call, const std::vector<DnnObject::Pointer>& objects,
                           size_t slots);

 private:
  using Objects = std::vector<DnnObject::Pointer>;
  DnnObject::Pointer find(const std::string& key) const;
  void make_room(size_t objects);
  DnnObject::Pointer make_one(const ObjectView& view, const Objects& before, void* handle);
  DnnObject::Pointer filled(const ObjectView& view, const Objects& before);
  void set(DnnObject& object, const Invocation& call, const Objects& before, void* handle) const;
  void set_backend(DnnObject& object, const Invocation& call, const Objects& before, void* handle) const;
  void set_attribute(DnnObject& object, const Invocation& call, const Objects& before, void* handle) const;

  const std::shared_ptr<const Cudnn> library_;
  std::map<std::string, DnnObject::Pointer> kept_;
};

}  // namespace jitc::cuda
