// cuBLASLt: descriptors are local, a product becomes a matmul op with its epilogue.
//
// Promise: an attribute that would change the result and is not served makes the heuristic and the product
// say NOT_SUPPORTED, so that a caller with another way takes it.
#include <cstring>

#include "blas.h"
#include "handles.h"
#include "memory.h"

namespace jitc::front {
namespace {

struct Layout {
  uint32_t type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  int32_t order = 0, batch = 1;
};
struct Desc {
  uint32_t compute = 0, scale_type = 0;
  int32_t pointer_mode = 0, transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = 1;
  uint64_t bias = 0;
  int32_t bias_type = -1;
  bool unserved = false;  // an attribute that matters and that we do not have
};
struct Lt {};
struct Preference {};

template <class T, Kind kKind>
HandleTable<T, kKind>& table() {
  static auto& out = *new HandleTable<T, kKind>;
  return out;
}
auto& layouts() { return table<Layout, Kind::layout>(); }
auto& descs() { return table<Desc, Kind::matmul_desc>(); }
auto& preferences() { return table<Preference, Kind::preference>(); }
auto& lts() { return table<Lt, Kind::lt>(); }

bool is_handle(uint64_t handle) { return lts().contains(handle) || is_blas_handle(handle); }

template <class T>
Status store(T* to, const void* value, size_t size) {
  if (size != sizeof(T)) return kBlasInvalidValue;
  std::memcpy(to, value, size);
  return kSuccess;
}

enum LayoutAttribute { kType = 0, kOrder, kRows, kColumns, kLd, kBatch, kStride };
Status set_layout(Layout& layout, int32_t attribute, const void* value, size_t size) {
  switch (attribute) {
    case kType: return store(&layout.type, value, size);
    case kOrder: return store(&layout.order, value, size);
    case kRows: return store(&layout.rows, value, size);
    case kColumns: return store(&layout.columns, value, size);
    case kLd: return store(&layout.ld, value, size);
    case kBatch: return store(&layout.batch, value, size);
    case kStride: return store(&layout.stride, value, size);
    default: return kBlasNotSupported;
  }
}

enum DescAttribute {
  kCompute = 0, kScaleType = 1, kPointerMode = 2, kTransposeA = 3, kTransposeB = 4, kTransposeC = 5, kFillMode = 6,
  kEpilogue = 7, kBias = 8, kSmTarget = 15, kFastAccumulation = 25, kBiasType = 26,
};
Status set_desc(Desc& desc, int32_t attribute, const void* value, size_t size) {
  switch (attribute) {
    case kCompute: return store(&desc.compute, value, size);
    case kScaleType: return store(&desc.scale_type, value, size);
    case kPointerMode: return store(&desc.pointer_mode, value, size);
    case kTransposeA: return store(&desc.transpose_a, value, size);
    case kTransposeB: return store(&desc.transpose_b, value, size);
    case kEpilogue: return store(&desc.epilogue, value, size);
    case kBias: return store(&desc.bias, value, size);
    case kBiasType: return store(&desc.bias_type, value, size);
    case kSmTarget: case kFastAccumulation: return kSuccess;  // no effect on the result
    default: desc.unserved = true; return kSuccess;
  }
}

bool epilogue_served(uint32_t epilogue) {
  // none, ReLU, bias, ReLU + bias, GELU, GELU + bias
  return epilogue == 1 || epilogue == 2 || epilogue == 4 || epilogue == 6 || epilogue == 32 || epilogue == 36;
}

struct Operands {
  Desc desc;
  Layout a, b, c, d;
};
Status look_up(uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d, Operands* out) {
  const bool found = descs().get(desc, &out->desc) && layouts().get(a, &out->a) && layouts().get(b, &out->b) &&
                     layouts().get(c, &out->c) && layouts().get(d, &out->d);
  return found ? kSuccess : kBlasInvalidValue;
}

bool served(const Operands& o) {
  for (const Layout* layout : {&o.a, &o.b, &o.c, &o.d})
    if (layout->order != 0 || !type_bytes(layout->type) || layout->batch != o.d.batch) return false;
  uint32_t scale = 0;
  return !o.desc.unserved && epilogue_served(o.desc.epilogue) && o.desc.pointer_mode <= 1 &&
         scale_type_of(o.desc.compute, &scale) && scale == o.desc.scale_type &&
         (o.desc.bias_type < 0 || type_bytes(static_cast<uint32_t>(o.desc.bias_type)));
}

ops::Matmul to_op(const Operands& o) {
  ops::Matmul op;
  op.transpose_a = static_cast<uint32_t>(o.desc.transpose_a), op.transpose_b = static_cast<uint32_t>(o.desc.transpose_b);
  op.m = static_cast<int64_t>(o.d.rows), op.n = static_cast<int64_t>(o.d.columns);
  op.k = static_cast<int64_t>(o.desc.transpose_a ? o.a.rows : o.a.columns);
  op.batch = o.d.batch;
  op.lda = o.a.ld, op.stride_a = o.a.stride, op.type_a = o.a.type;
  op.ldb = o.b.ld, op.stride_b = o.b.stride, op.type_b = o.b.type;
  op.ldc = o.c.ld, op.stride_c = o.c.stride, op.type_c = o.c.type;
  op.ldd = o.d.ld, op.stride_d = o.d.stride, op.type_d = o.d.type;
  op.compute = o.desc.compute, op.scale_type = o.desc.scale_type, op.epilogue = o.desc.epilogue;
  op.bias = o.desc.epilogue & 4 ? o.desc.bias : 0;
  op.type_bias = o.desc.bias_type < 0 ? o.d.type : static_cast<uint32_t>(o.desc.bias_type);
  return op;
}

/// Whether op(A), op(B), C and D have the shapes of one product.
bool shapes_agree(const Operands& o) {
  const bool flip_a = o.desc.transpose_a != 0, flip_b = o.desc.transpose_b != 0;
  const uint64_t m = flip_a ? o.a.columns : o.a.rows, k = flip_a ? o.a.rows : o.a.columns;
  const uint64_t n = flip_b ? o.b.rows : o.b.columns, k2 = flip_b ? o.b.columns : o.b.rows;
  return m == o.d.rows && n == o.d.columns && k == k2 && o.c.rows == m && o.c.columns == n;
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
Status destroy(Table& table, uint64_t handle) {
  typename std::remove_reference_t<decltype(table)>::Value gone;
  return table.remove(handle, &gone) ? kSuccess : kBlasInvalidValue;
}

}  // namespace

int32_t cublasLtCreate(uint64_t* handle) {
  if (!handle) return kBlasInvalidValue;
  *handle = lts().add({});
  return kSuccess;
}
int32_t cublasLtDestroy(uint64_t handle) { return destroy(lts(), handle); }
size_t cublasLtGetVersion() { return 130000; }
size_t cublasLtGetCudartVersion() { return 13000; }

int32_t cublasLtMatrixLayoutCreate(uint64_t* layout, int32_t type, uint64_t rows, uint64_t columns, int64_t ld) {
  if (!layout) return kBlasInvalidValue;
  Layout made;
  made.type = static_cast<uint32_t>(type), made.rows = rows, made.columns = columns, made.ld = ld;
  *layout = layouts().add(made);
  return kSuccess;
}
int32_t cublasLtMatrixLayoutDestroy(uint64_t layout) { return destroy(layouts(), layout); }
int32_t cublasLtMatrixLayoutSetAttribute(uint64_t layout, int32_t attribute, const void* value, size_t size) {
  Status status = kBlasInvalidValue;
  if (value) layouts().update(layout, [&](Layout& l) { status = set_layout(l, attribute, value, size); });
  return status;
}
int32_t cublasLtMatrixLayoutGetAttribute(uint64_t layout, int32_t attribute, void* value, size_t size, size_t* written) {
  Layout l;
  if (!layouts().get(layout, &l)) return kBlasInvalidValue;
  switch (attribute) {
    case kType: return give(l.type, value, size, written);
    case kOrder: return give(l.order, value, size, written);
    case kRows: return give(l.rows, value, size, written);
    case kColumns: return give(l.columns, value, size, written);
    case kLd: return give(l.ld, value, size, written);
    case kBatch: return give(l.batch, value, size, written);
    case kStride: return give(l.stride, value, size, written);
    default: return kBlasNotSupported;
  }
}

int32_t cublasLtMatmulDescCreate(uint64_t* desc, int32_t compute, int32_t scale_type) {
  if (!desc) return kBlasInvalidValue;
  Desc made;
  made.compute = static_cast<uint32_t>(compute), made.scale_type = static_cast<uint32_t>(scale_type);
  *desc = descs().add(made);
  return kSuccess;
}
int32_t cublasLtMatmulDescDestroy(uint64_t desc) { return destroy(descs(), desc); }
int32_t cublasLtMatmulDescSetAttribute(uint64_t desc, int32_t attribute, const void* value, size_t size) {
  Status status = kBlasInvalidValue;
  if (value) descs().update(desc, [&](Desc& d) { status = set_desc(d, attribute, value, size); });
  return status;
}
int32_t cublasLtMatmulDescGetAttribute(uint64_t desc, int32_t attribute, void* value, size_t size, size_t* written) {
  Desc d;
  if (!descs().get(desc, &d)) return kBlasInvalidValue;
  switch (attribute) {
    case kCompute: return give(d.compute, value, size, written);
    case kScaleType: return give(d.scale_type, value, size, written);
    case kPointerMode: return give(d.pointer_mode, value, size, written);
    case kTransposeA: return give(d.transpose_a, value, size, written);
    case kTransposeB: return give(d.transpose_b, value, size, written);
    case kEpilogue: return give(d.epilogue, value, size, written);
    case kBias: return give(d.bias, value, size, written);
    case kBiasType: return give(d.bias_type, value, size, written);
    default: return kBlasNotSupported;
  }
}

int32_t cublasLtMatmulPreferenceCreate(uint64_t* preference) {
  if (!preference) return kBlasInvalidValue;
  *preference = preferences().add({});
  return kSuccess;
}
int32_t cublasLtMatmulPreferenceDestroy(uint64_t preference) { return destroy(preferences(), preference); }
int32_t cublasLtMatmulPreferenceSetAttribute(uint64_t preference, int32_t, const void* value, size_t) {
  return value && preferences().contains(preference) ? kSuccess : kBlasInvalidValue;
}

int32_t cublasLtMatmulAlgoGetHeuristic(uint64_t handle, uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                       uint64_t preference, int32_t requested, Heuristic* results, int32_t* count) {
  if (!is_handle(handle)) return kBlasNotInitialized;
  if (!results || !count || requested < 1 || !preferences().contains(preference)) return kBlasInvalidValue;
  *count = 0;
  Operands operands;
  if (const Status status = look_up(desc, a, b, c, d, &operands)) return status;
  if (!shapes_agree(operands)) return kBlasInvalidValue;
  if (!served(operands)) return kBlasNotSupported;
  results[0] = {};
  results[0].waves = 1;
  *count = 1;
  return kSuccess;
}

int32_t cublasLtMatmul(uint64_t handle, uint64_t desc, const void* alpha, uint64_t a, uint64_t layout_a, uint64_t b,
                       uint64_t layout_b, const void* beta, uint64_t c, uint64_t layout_c, uint64_t d,
                       uint64_t layout_d, const Algorithm*, uint64_t, size_t, uint64_t stream) {
  if (!is_handle(handle)) return kBlasNotInitialized;
  Operands operands;
  if (const Status status = look_up(desc, layout_a, layout_b, layout_c, layout_d, &operands)) return status;
  if (!shapes_agree(operands)) return kBlasInvalidValue;
  if (!served(operands)) return kBlasNotSupported;
  StreamRef ref;
  if (resolve_stream(stream, &ref)) return kBlasInvalidValue;
  ops::Matmul op = to_op(operands);
  op.a = a, op.b = b, op.c = c, op.d = d;
  const uint64_t bias_bytes = static_cast<uint64_t>(op.m) * type_bytes(op.type_bias);
  if ((operands.desc.epilogue & 4) && device_range(op.bias, bias_bytes) != ref.session) return kBlasInvalidValue;
  if (const Status status = set_scalars(&op, alpha, beta, operands.desc.pointer_mode == 1)) return status;
  return submit_matmul(ref, op);
}

}  // namespace jitc::front
