// See objects.h. An attribute that is set twice must keep its size; one that was never set cannot be read.
#include "objects.h"

#include <mutex>

#include "functions.h"

namespace jitc::fakes {
namespace {
struct Objects {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<LtObject>> all;
  uintptr_t next = 0x17000000;
};

Objects& objects() {
  static Objects* const one = new Objects;
  return *one;
}

std::shared_ptr<LtObject> find(const void* handle, LtKind kind) {
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().all.find(handle);
  if (found == objects().all.end() || found->second->kind != kind) throw LtFailure{kLtInvalidValue};
  return found->second;
}

template <class T>
void put(LtObject& object, int attribute, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  object.attributes[attribute].assign(bytes, bytes + sizeof value);
}

int create(const char* name, void** out, LtObject object) {
  return lt_call(name, {}, [&](CallLine& line) {
    if (!out) throw LtFailure{kLtInvalidValue};
    const std::lock_guard lock(objects().mutex);
    *out = reinterpret_cast<void*>(objects().next += 16);
    objects().all[*out] = std::make_shared<LtObject>(std::move(object));
    line.add(Field::address("out", *out));
  });
}

int destroy(const char* name, void* handle, LtKind kind) {
  return lt_call(name, {Field::address("object", handle)}, [&](CallLine&) {
    find(handle, kind);
    const std::lock_guard lock(objects().mutex);
    objects().all.erase(handle);
  });
}

int set(const char* name, void* handle, LtKind kind, int attribute, const void* value, size_t size) {
  return lt_call(name,
                 {Field::address("object", handle), Field::real("attribute", attribute),
                  Field::bytes("value", value, value ? size : 0)},
                 [&](CallLine&) {
                   const auto one = find(handle, kind);
                   if (!value || !size) throw LtFailure{kLtInvalidValue};
                   auto& bytes = one->attributes[attribute];
                   if (!bytes.empty() && bytes.size() != size) throw LtFailure{kLtInvalidValue};
                   bytes.assign(static_cast<const std::byte*>(value),
                                static_cast<const std::byte*>(value) + size);
                 });
}

int get(const char* name, void* handle, LtKind kind, int attribute, void* value, size_t size,
        size_t* written) {
  return lt_call(name, {Field::address("object", handle), Field::real("attribute", attribute)},
                 [&](CallLine&) {
                   const auto one = find(handle, kind);
                   const auto found = one->attributes.find(attribute);
                   if (found == one->attributes.end()) throw LtFailure{kLtInvalidValue};
                   if (written) *written = found->second.size();
                   if (size == 0) return;
                   if (!value || size != found->second.size()) throw LtFailure{kLtInvalidValue};
                   std::memcpy(value, found->second.data(), size);
                 });
}
}  // namespace

int64_t LtObject::number(int attribute, int64_t otherwise) const {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return otherwise;
  int32_t narrow = 0;
  int64_t wide = 0;
  if (found->second.size() == sizeof narrow) {
    std::memcpy(&narrow, found->second.data(), sizeof narrow);
    return narrow;
  }
  std::memcpy(&wide, found->second.data(), std::min(sizeof wide, found->second.size()));
  return wide;
}

std::shared_ptr<const LtObject> object(const void* handle, LtKind kind) { return find(handle, kind); }

int cublasLtCreate(void** out) { return create("cublasLtCreate", out, {LtKind::library}); }
int cublasLtDestroy(void* handle) { return destroy("cublasLtDestroy", handle, LtKind::library); }
size_t cublasLtGetVersion() { return 130000; }

int cublasLtMatmulDescCreate(void** out, int compute, int scale) {
  LtObject object{LtKind::description};
  put(object, kComputeType, int32_t{compute});
  put(object, kScaleType, int32_t{scale});
  for (const int each : {kPointerMode, kTransA, kTransB}) put(object, each, int32_t{0});
  put(object, kEpilogue, uint32_t{1});
  return create("cublasLtMatmulDescCreate", out, std::move(object));
}
int cublasLtMatmulDescDestroy(void* handle) {
  return destroy("cublasLtMatmulDescDestroy", handle, LtKind::description);
}
int cublasLtMatmulDescSetAttribute(void* handle, int attribute, const void* value, size_t size) {
  return set("cublasLtMatmulDescSetAttribute", handle, LtKind::description, attribute, value, size);
}
int cublasLtMatmulDescGetAttribute(void* handle, int attribute, void* value, size_t size, size_t* written) {
  return get("cublasLtMatmulDescGetAttribute", handle, LtKind::description, attribute, value, size, written);
}

int cublasLtMatrixLayoutCreate(void** out, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  LtObject object{LtKind::layout};
  put(object, kLayoutType, uint32_t(type));
  put(object, kOrder, int32_t{0});
  put(object, kRows, rows);
  put(object, kColumns, columns);
  put(object, kLeading, leading);
  put(object, kBatchCount, int32_t{1});
  put(object, kBatchOffset, int64_t{0});
  return create("cublasLtMatrixLayoutCreate", out, std::move(object));
}
int cublasLtMatrixLayoutDestroy(void* handle) {
  return destroy("cublasLtMatrixLayoutDestroy", handle, LtKind::layout);
}
int cublasLtMatrixLayoutSetAttribute(void* handle, int attribute, const void* value, size_t size) {
  return set("cublasLtMatrixLayoutSetAttribute", handle, LtKind::layout, attribute, value, size);
}
int cublasLtMatrixLayoutGetAttribute(void* handle, int attribute, void* value, size_t size, size_t* written) {
  return get("cublasLtMatrixLayoutGetAttribute", handle, LtKind::layout, attribute, value, size, written);
}

int cublasLtMatmulPreferenceCreate(void** out) {
  LtObject object{LtKind::preference};
  put(object, kMaxWorkspace, uint64_t{0});
  return create("cublasLtMatmulPreferenceCreate", out, std::move(object));
}
int cublasLtMatmulPreferenceDestroy(void* handle) {
  return destroy("cublasLtMatmulPreferenceDestroy", handle, LtKind::preference);
}
int cublasLtMatmulPreferenceSetAttribute(void* handle, int attribute, const void* value, size_t size) {
  return set("cublasLtMatmulPreferenceSetAttribute", handle, LtKind::preference, attribute, value, size);
}
int cublasLtMatmulPreferenceGetAttribute(void* handle, int attribute, void* value, size_t size,
                                         size_t* written) {
  return get("cublasLtMatmulPreferenceGetAttribute", handle, LtKind::preference, attribute, value, size,
             written);
}

}  // namespace jitc::fakes
