// cuBLASLt: a product becomes a matmul op with its epilogue.
//
// On a device with kernels, lt_call.cpp serves heuristic and product. Promise: if something that changes the
// result is not served, both return NOT_SUPPORTED, so that a caller can take another way.

#include "api/cublas/blas_handle.h"
#include "api/cublas/matmul.h"
#include "api/generated/generated_api.h"
#include "api/memory/memory.h"
#include "blaslt_objects.h"
#include "lt_call.h"

namespace jitc::api {
namespace {

bool epilogue_served(uint32_t epilogue) {
  const uint32_t activation = epilogue & ~kBiasAdded;
  return epilogue == kNoEpilogue || epilogue == kBiasAdded || activation == kRelu || activation == kGelu;
}

struct Operands {
  Desc desc;
  Layout a, b, c, d;
};
Status look_up(uint64_t desc, uint64_t a, uint64_t b, uint64_t c, uint64_t d, Operands* out) {
  const bool found = find_desc(desc, &out->desc) && find_layout(a, &out->a) && find_layout(b, &out->b) &&
                     find_layout(c, &out->c) && find_layout(d, &out->d);
  return found ? kSuccess : kBlasInvalidValue;
}

bool served(const Operands& o) {
  for (const Layout* layout : {&o.a, &o.b, &o.c, &o.d})
    if (layout->order != 0 || !type_bytes(layout->type) || layout->batch != o.d.batch) return false;
  uint32_t scale = 0;
  return !o.desc.unserved && epilogue_served(o.desc.epilogue) && o.desc.pointer_mode <= kScalarsOnDevice &&
         scale_type_of(o.desc.compute, &scale) && scale == o.desc.scale_type &&
         (o.desc.bias_type < 0 || type_bytes(static_cast<uint32_t>(o.desc.bias_type)));
}

ops::Matmul to_op(const Operands& o) {
  ops::Matmul op;
  op.transpose_a = static_cast<uint32_t>(o.desc.transpose_a),
  op.transpose_b = static_cast<uint32_t>(o.desc.transpose_b);
  op.m = static_cast<int64_t>(o.d.rows), op.n = static_cast<int64_t>(o.d.columns);
  op.k = static_cast<int64_t>(o.desc.transpose_a ? o.a.rows : o.a.columns);
  op.batch = o.d.batch;
  op.lda = o.a.ld, op.stride_a = o.a.stride, op.type_a = o.a.type;
  op.ldb = o.b.ld, op.stride_b = o.b.stride, op.type_b = o.b.type;
  op.ldc = o.c.ld, op.stride_c = o.c.stride, op.type_c = o.c.type;
  op.ldd = o.d.ld, op.stride_d = o.d.stride, op.type_d = o.d.type;
  op.compute = o.desc.compute, op.scale_type = o.desc.scale_type, op.epilogue = o.desc.epilogue;
  op.bias = o.desc.epilogue & kBiasAdded ? o.desc.bias : 0;
  op.type_bias = o.desc.bias_type < 0 ? o.d.type : static_cast<uint32_t>(o.desc.bias_type);
  return op;
}

/// Returns whether op(A), op(B), C and D have the shapes of one product.
bool shapes_agree(const Operands& o) {
  const bool flip_a = o.desc.transpose_a != 0, flip_b = o.desc.transpose_b != 0;
  const uint64_t m = flip_a ? o.a.columns : o.a.rows, k = flip_a ? o.a.rows : o.a.columns;
  const uint64_t n = flip_b ? o.b.rows : o.b.columns, k2 = flip_b ? o.b.columns : o.b.rows;
  return m == o.d.rows && n == o.d.columns && k == k2 && o.c.rows == m && o.c.columns == n;
}

}  // namespace

int32_t cublasLtMatmulAlgoGetHeuristic(uint64_t handle, uint64_t desc, uint64_t a, uint64_t b, uint64_t c,
                                       uint64_t d, uint64_t preference, int32_t requested, Heuristic* results,
                                       int32_t* count) {
  if (!is_lt_handle(handle)) return kBlasNotInitialized;
  if (!results || !count || requested < 1 || !is_preference(preference)) return kBlasInvalidValue;
  *count = 0;
  if (runs_kernels()) return ask_heuristic({handle, desc, a, b, c, d, preference}, requested, results, count);
  Operands operands;
  if (const Status status = look_up(desc, a, b, c, d, &operands)) return status;
  if (!shapes_agree(operands)) return kBlasInvalidValue;
  if (!served(operands)) return kBlasNotSupported;
  results[0] = {};
  results[0].waves = 1;
  *count = 1;
  return kSuccess;
}

int32_t cublasLtMatmul(uint64_t handle, uint64_t desc, const void* alpha, uint64_t a, uint64_t layout_a,
                       uint64_t b, uint64_t layout_b, const void* beta, uint64_t c, uint64_t layout_c,
                       uint64_t d, uint64_t layout_d, const Algorithm* algorithm, uint64_t workspace,
                       size_t workspace_bytes, uint64_t stream) {
  if (!is_lt_handle(handle)) return kBlasNotInitialized;
  if (runs_kernels())
    return submit_lt_matmul({handle, desc, layout_a, layout_b, layout_c, layout_d, 0},
                            {alpha, beta, a, b, c, d, algorithm, workspace, workspace_bytes, stream});
  Operands operands;
  if (const Status status = look_up(desc, layout_a, layout_b, layout_c, layout_d, &operands)) return status;
  if (!shapes_agree(operands)) return kBlasInvalidValue;
  if (!served(operands)) return kBlasNotSupported;
  StreamRef ref;
  if (resolve_stream(stream, &ref)) return kBlasInvalidValue;
  ops::Matmul op = to_op(operands);
  op.a = a, op.b = b, op.c = c, op.d = d;
  const uint64_t bias_bytes = static_cast<uint64_t>(op.m) * type_bytes(op.type_bias);
  if ((operands.desc.epilogue & kBiasAdded) && device_range(op.bias, bias_bytes) != ref.session)
    return kBlasInvalidValue;
  if (const Status status = set_scalars(&op, alpha, beta, operands.desc.pointer_mode == kScalarsOnDevice))
    return status;
  return submit_matmul(ref, op);
}

}  // namespace jitc::api
