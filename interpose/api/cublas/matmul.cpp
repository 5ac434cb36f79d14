// See matmul.h.
#include "matmul.h"

#include <algorithm>

#include "api/common/scalar.h"
#include "api/memory/memory.h"
#include "session/message.h"

namespace jitc::api {
namespace {

double scalar_of(const void* from, uint32_t type) {
  switch (type) {
    case kF64:
      return read_as<double>(from);
    case kF16:
      return half_to_double(static_cast<uint16_t>(read_as<uint16_t>(from)));
    case kBf16:
      return bfloat16_to_double(static_cast<uint16_t>(read_as<uint16_t>(from)));
    case kI32:
      return read_as<int32_t>(from);
    default:
      return read_as<float>(from);
  }
}

struct Operand {
  uint64_t address;
  int64_t rows, columns, ld, stride, batch;
  uint32_t type;
};

/// Returns whether the column-major operand lies in one allocation of the session.
bool lies_in(const Session* session, const Operand& o) {
  const int64_t elements = o.stride * (o.batch - 1) + o.ld * (o.columns - 1) + o.rows;
  return o.ld >= o.rows && o.stride >= 0 && elements > 0 &&
         device_range(o.address, static_cast<uint64_t>(elements) * type_bytes(o.type)) == session;
}

bool operands_fit(const Session* session, const ops::Matmul& op) {
  const bool flip_a = op.transpose_a != 0, flip_b = op.transpose_b != 0;
  const Operand a{op.a, flip_a ? op.k : op.m, flip_a ? op.m : op.k, op.lda, op.stride_a, op.batch, op.type_a};
  const Operand b{op.b, flip_b ? op.n : op.k, flip_b ? op.k : op.n, op.ldb, op.stride_b, op.batch, op.type_b};
  const Operand c{op.c, op.m, op.n, op.ldc, op.stride_c, op.batch, op.type_c};
  const Operand d{op.d, op.m, op.n, op.ldd, op.stride_d, op.batch, op.type_d};
  const bool reads_c = op.beta_address || op.beta != 0;
  if (op.k && (!lies_in(session, a) || !lies_in(session, b))) return false;
  return (!reads_c || lies_in(session, c)) && lies_in(session, d);
}

bool scalar_fits(const Session* session, uint64_t address, uint32_t type) {
  return !address || device_range(address, type_bytes(type)) == session;
}

}  // namespace

uint64_t type_bytes(uint32_t type) {
  switch (type) {
    case kF64:
      return 8;
    case kF32:
    case kI32:
      return 4;
    case kF16:
    case kBf16:
      return 2;
    case kI8:
      return 1;
    default:
      return 0;
  }
}

bool scale_type_of(uint32_t compute, uint32_t* scale_type) {
  switch (compute) {
    case kCompute16F:
    case kCompute16FPedantic:
      *scale_type = kF16;
      return true;
    case kCompute32F:
    case kCompute32FPedantic:
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTF32:
    case kCompute32FEmulated16BFx9:
      *scale_type = kF32;
      return true;
    case kCompute64F:
    case kCompute64FPedantic:
    case kCompute64FEmulatedFixed:
      *scale_type = kF64;
      return true;
    case kCompute32I:
    case kCompute32IPedantic:
      *scale_type = kI32;
      return true;
    default:
      return false;
  }
}

Status set_scalars(ops::Matmul* op, const void* alpha, const void* beta, bool on_device) {
  if (!alpha || !beta) return kBlasInvalidValue;
  if (on_device) {
    op->alpha_address = reinterpret_cast<uint64_t>(alpha);
    op->beta_address = reinterpret_cast<uint64_t>(beta);
    return kSuccess;
  }
  // PyTorch does not set the pointer mode and passes scalars on the host; a device address here is a mistake.
  if (Node::instance().owner(reinterpret_cast<uint64_t>(alpha)) ||
      Node::instance().owner(reinterpret_cast<uint64_t>(beta)))
    return kBlasInvalidValue;
  op->alpha = scalar_of(alpha, op->scale_type);
  op->beta = scalar_of(beta, op->scale_type);
  return kSuccess;
}

Status submit_matmul(const StreamRef& stream, ops::Matmul op) {
  if (op.m < 0 || op.n < 0 || op.k < 0 || op.batch < 0 || op.transpose_a > 2 || op.transpose_b > 2)
    return kBlasInvalidValue;
  if (!type_bytes(op.type_a) || !type_bytes(op.type_b) || !type_bytes(op.type_c) || !type_bytes(op.type_d)) {
    session::message_once(
        "cuBLAS: this element type is not served on the software device: use fp32, fp64, fp16 or bf16");
    return kBlasNotSupported;
  }
  if (op.m == 0 || op.n == 0 || op.batch == 0) return kSuccess;
  if (!operands_fit(stream.session, op) || !scalar_fits(stream.session, op.alpha_address, op.scale_type) ||
      !scalar_fits(stream.session, op.beta_address, op.scale_type))
    return kBlasInvalidValue;
  op.header.stream = stream.id;
  return stream.session->submit(op) ? kSuccess : kBlasExecutionFailed;
}

}  // namespace jitc::api
