// cuBLASLt objects: handles, layouts, descriptors, preferences; all local.
//
// Every object is kept twice: in the form for the software device (which remembers an unserved attribute that
// would change the result, Desc::unserved), and as the record for a device with kernels. The thread's device
// decides which of the two determines whether an attribute is served.
#include "blaslt_objects.h"

#include <cstring>

#include "api/common/handles.h"
#include "api/cublas/blas_handle.h"
#include "api/generated/generated_api.h"

namespace jitc::api {
namespace {

struct Lt {};
struct Preference {
  LtRecord record;
};

template <class T, Kind kKind>
HandleTable<T, kKind>& table() {
  static auto& out = *new HandleTable<T, kKind>;
  return out;
}
auto& layouts() { return table<Layout, Kind::layout>(); }
auto& descs() { return table<Desc, Kind::matmul_desc>(); }
auto& preferences() { return table<Preference, Kind::preference>(); }
auto& lts() { return table<Lt, Kind::lt>(); }

template <class T>
Status store(T* to, const void* value, size_t size) {
  if (size != sizeof(T)) return kBlasInvalidValue;
  std::memcpy(to, value, size);
  return kSuccess;
}

enum LayoutAttribute { kType = 0, kOrder, kRows, kColumns, kLd, kBatch, kStride };
Status set_layout(Layout& layout, int32_t attribute, const void* value, size_t size) {
  switch (attribute) {
    case kType:
      return store(&layout.type, value, size);
    case kOrder:
      return store(&layout.order, value, size);
    case kRows:
      return store(&layout.rows, value, size);
    case kColumns:
      return store(&layout.columns, value, size);
    case kLd:
      return store(&layout.ld, value, size);
    case kBatch:
      return store(&layout.batch, value, size);
    case kStride:
      return store(&layout.stride, value, size);
    default:
      return kBlasNotSupported;
  }
}

enum DescAttribute {
  kCompute = 0,
  kScaleType = 1,
  kPointerMode = 2,
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogue = 7,
  kBias = 8,
  kSmTarget = 15,
  kFastAccumulation = 25,
  kBiasType = 26,
};
Status set_desc(Desc& desc, int32_t attribute, const void* value, size_t size) {
  switch (attribute) {
    case kCompute:
      return store(&desc.compute, value, size);
    case kScaleType:
      return store(&desc.scale_type, value, size);
    case kPointerMode:
      return store(&desc.pointer_mode, value, size);
    case kTransposeA:
      return store(&desc.transpose_a, value, size);
    case kTransposeB:
      return store(&desc.transpose_b, value, size);
    case kEpilogue:
      return store(&desc.epilogue, value, size);
    case kBias:
      return store(&desc.bias, value, size);
    case kBiasType:
      return store(&desc.bias_type, value, size);
    case kSmTarget:
    case kFastAccumulation:
      return kSuccess;  // no effect on the result
    default:
      desc.unserved = true;
      return kSuccess;
  }
}

template <class T>
Status give(const T& from, void* value, size_t size, size_t* written) {
  if (written) *written = sizeof from;
  if (!size) return kSuccess;
  if (!value || size < sizeof from) return kBlasInvalidValue;
  std::memcpy(value, &from, sizeof from);
  return kSuccess;
}

template <class Table>
bool write(Table& table, uint64_t handle, CallWriter& out) {
  return table.visit(handle, [&](const auto& object) { object.record.write_to(out); });
}

template <class Table>
Status destroy(Table& table, uint64_t handle) {
  typename std::remove_reference_t<decltype(table)>::Value gone;
  return table.remove(handle, &gone) ? kSuccess : kBlasInvalidValue;
}

}  // namespace

bool is_lt_handle(uint64_t handle) { return lts().contains(handle) || is_blas_handle(handle); }
bool is_preference(uint64_t handle) { return preferences().contains(handle); }
bool find_layout(uint64_t handle, Layout* out) { return layouts().get(handle, out); }
bool find_desc(uint64_t handle, Desc* out) { return descs().get(handle, out); }
bool copy_desc_record(uint64_t handle, LtRecord* out) {
  return descs().visit(handle, [&](const Desc& desc) { *out = desc.record; });
}
bool write_desc(uint64_t handle, CallWriter& out) { return write(descs(), handle, out); }
bool write_layout(uint64_t handle, CallWriter& out) { return write(layouts(), handle, out); }
bool write_preference(uint64_t handle, CallWriter& out) { return write(preferences(), handle, out); }

int32_t cublasLtCreate(uint64_t* handle) {
  if (!handle) return kBlasInvalidValue;
  *handle = lts().add({});
  return kSuccess;
}
int32_t cublasLtDestroy(uint64_t handle) { return destroy(lts(), handle); }
size_t cublasLtGetVersion() { return 130000; }
size_t cublasLtGetCudartVersion() { return 13000; }

int32_t cublasLtMatrixLayoutCreate(uint64_t* layout, int32_t type, uint64_t rows, uint64_t columns,
                                   int64_t ld) {
  if (!layout) return kBlasInvalidValue;
  Layout made;
  made.type = static_cast<uint32_t>(type), made.rows = rows, made.columns = columns, made.ld = ld;
  made.record = LtRecord(ops::ObjectKind::lt_layout,
                         {type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld});
  *layout = layouts().add(made);
  return kSuccess;
}
int32_t cublasLtMatrixLayoutDestroy(uint64_t layout) { return destroy(layouts(), layout); }
int32_t cublasLtMatrixLayoutSetAttribute(uint64_t layout, int32_t attribute, const void* value, size_t size) {
  Status status = kBlasInvalidValue;
  const bool kernels = runs_kernels();
  if (value)
    layouts().update(layout, [&](Layout& l) {
      const Status typed = set_layout(l, attribute, value, size);
      status = kernels ? l.record.set(attribute, value, size) : typed;
    });
  return status;
}
int32_t cublasLtMatrixLayoutGetAttribute(uint64_t layout, int32_t attribute, void* value, size_t size,
                                         size_t* written) {
  Layout l;
  if (!layouts().get(layout, &l)) return kBlasInvalidValue;
  if (l.record.has(attribute)) return l.record.get(attribute, value, size, written);
  switch (attribute) {
    case kType:
      return give(l.type, value, size, written);
    case kOrder:
      return give(l.order, value, size, written);
    case kRows:
      return give(l.rows, value, size, written);
    case kColumns:
      return give(l.columns, value, size, written);
    case kLd:
      return give(l.ld, value, size, written);
    case kBatch:
      return give(l.batch, value, size, written);
    case kStride:
      return give(l.stride, value, size, written);
    default:
      return kBlasNotSupported;
  }
}

int32_t cublasLtMatmulDescCreate(uint64_t* desc, int32_t compute, int32_t scale_type) {
  if (!desc) return kBlasInvalidValue;
  Desc made;
  made.compute = static_cast<uint32_t>(compute), made.scale_type = static_cast<uint32_t>(scale_type);
  made.record = LtRecord(ops::ObjectKind::lt_descriptor, {compute, scale_type});
  *desc = descs().add(made);
  return kSuccess;
}
int32_t cublasLtMatmulDescDestroy(uint64_t desc) { return destroy(descs(), desc); }
int32_t cublasLtMatmulDescSetAttribute(uint64_t desc, int32_t attribute, const void* value, size_t size) {
  Status status = kBlasInvalidValue;
  const bool kernels = runs_kernels();
  if (value)
    descs().update(desc, [&](Desc& d) {
      const Status typed = set_desc(d, attribute, value, size);
      status = kernels ? d.record.set(attribute, value, size) : typed;
    });
  return status;
}
int32_t cublasLtMatmulDescGetAttribute(uint64_t desc, int32_t attribute, void* value, size_t size,
                                       size_t* written) {
  Desc d;
  if (!descs().get(desc, &d)) return kBlasInvalidValue;
  if (d.record.has(attribute)) return d.record.get(attribute, value, size, written);
  switch (attribute) {
    case kCompute:
      return give(d.compute, value, size, written);
    case kScaleType:
      return give(d.scale_type, value, size, written);
    case kPointerMode:
      return give(d.pointer_mode, value, size, written);
    case kTransposeA:
      return give(d.transpose_a, value, size, written);
    case kTransposeB:
      return give(d.transpose_b, value, size, written);
    case kEpilogue:
      return give(d.epilogue, value, size, written);
    case kBias:
      return give(d.bias, value, size, written);
    case kBiasType:
      return give(d.bias_type, value, size, written);
    default:
      return kBlasNotSupported;
  }
}

int32_t cublasLtMatmulPreferenceCreate(uint64_t* preference) {
  if (!preference) return kBlasInvalidValue;
  *preference = preferences().add({LtRecord(ops::ObjectKind::lt_preference, {})});
  return kSuccess;
}
int32_t cublasLtMatmulPreferenceDestroy(uint64_t preference) { return destroy(preferences(), preference); }
int32_t cublasLtMatmulPreferenceSetAttribute(uint64_t preference, int32_t attribute, const void* value,
                                             size_t size) {
  Status status = kBlasInvalidValue;
  const bool kernels = runs_kernels();
  if (value)
    preferences().update(preference, [&](Preference& p) {
      status = kernels ? p.record.set(attribute, value, size) : kSuccess;
    });
  return status;
}

}  // namespace jitc::api
