// See operands.h.
#include "operands.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/common/collective_shape.h"
#include "device/common/operands.h"
#include "device/software/arithmetic/reduce.h"
#include "device/software/errors/error.h"
#include "jitc/operator_call.h"

namespace jitc::software::order {
namespace {
using ops::OpId;

void reads(Operands& out, Region region) { out.push_back({std::move(region), false}); }
void writes(Operands& out, Region region) { out.push_back({std::move(region), true}); }

Region rows(uint64_t address, uint64_t pitch, uint64_t width, uint64_t height) {
  const std::array sizes{static_cast<int64_t>(height), static_cast<int64_t>(width)};
  const std::array steps{static_cast<int64_t>(pitch), int64_t{1}};
  return {address, 1, sizes, steps};
}

uint64_t width_of(uint32_t type) {  // cudaDataType_t
  constexpr uint32_t kFloat = 0, kDouble = 1, kHalf = 2, kBFloat = 14;
  if (type == kDouble) return 8;
  if (type == kHalf || type == kBFloat) return 2;
  return type == kFloat ? 4 : 1;
}

struct Matrix {
  uint64_t address;
  uint32_t type;
  int64_t rows, columns, ld, batch, stride;
  Region region() const {
    const std::array sizes{batch, columns, rows}, strides{stride, ld, int64_t{1}};
    return {address, width_of(type), sizes, strides};
  }
  Matrix transposed(uint32_t wanted) const {
    return wanted ? Matrix{address, type, columns, rows, ld, batch, stride} : *this;
  }
};

void product(const ops::Matmul& op, Operands& out) {
  const Matrix a{op.a, op.type_a, op.m, op.k, op.lda, op.batch, op.stride_a};
  const Matrix b{op.b, op.type_b, op.k, op.n, op.ldb, op.batch, op.stride_b};
  const Matrix c{op.c, op.type_c, op.m, op.n, op.ldc, op.batch, op.stride_c};
  const Matrix d{op.d, op.type_d, op.m, op.n, op.ldd, op.batch, op.stride_d};
  reads(out, a.transposed(op.transpose_a).region());
  reads(out, b.transposed(op.transpose_b).region());
  if (op.beta_address || op.beta != 0) reads(out, c.region());
  if (op.bias && op.m > 0) reads(out, {op.bias, width_of(op.type_bias) * static_cast<uint64_t>(op.m)});
  for (const uint64_t scalar : {op.alpha_address, op.beta_address})
    if (scalar) reads(out, {scalar, width_of(op.scale_type)});
  writes(out, d.region());
}

const char* kind_name(uint32_t kind) {
  constexpr std::array kNames{"ncclAllReduce",     "ncclBroadcast", "ncclReduce", "ncclAllGather",
                              "ncclReduceScatter", "ncclAlltoAll",  "ncclSend",   "ncclRecv"};
  return kind < kNames.size() ? kNames[kind] : "collective";
}
}  // namespace

/// Adds an item. A rank's contribution to an in-place all-gather stays in place.
void OperandReader::item(const ops::CollectiveItem& item, Operands& out) const {
  Identity identity;
  const uint64_t width = element_width(item.dtype);
  if (!communicators_.find(item.comm, identity) || identity.ranks < 1 || identity.rank < 0) return;
  const auto ranks = static_cast<uint32_t>(identity.ranks), rank = static_cast<uint32_t>(identity.rank);
  const Extent times = extent(item, ranks, rank);
  const uint64_t sent = size_of(item.count, width, times.send);
  const uint64_t received = size_of(item.count, width, times.receive);
  if (item.send) reads(out, {item.send, sent});
  if (has_reduction(kind_of(item)) && item.scale_address) reads(out, {item.scale_address, width});
  if (!item.receive) return;
  const bool gathers = kind_of(item) == ops::CollectiveKind::all_gather;
  const uint64_t own = item.receive + rank * sent;
  if (!gathers || item.send != own) return writes(out, {item.receive, received});
  writes(out, {item.receive, rank * sent});
  writes(out, {own + sent, received - (rank + 1) * sent});
}

void OperandReader::collective(const ops::Collective& op, Operands& out) const {
  for (const ops::CollectiveItem& one : items_of(op)) item(one, out);
  std::stable_partition(out.begin(), out.end(), [](const Operand& one) { return !one.writes; });
}

void OperandReader::calls(const ops::OpHeader& op, Operands& out) const {
  operators_.accesses(op, [&](const jitc_tensor_access& one) {
    const std::span sizes(one.sizes, one.dimensions), strides(one.strides, one.dimensions);
    out.push_back({{one.address, one.item, sizes, strides}, one.written != 0});
  });
}

Operands OperandReader::operands(const ops::OpHeader& op) const {
  Operands out;
  switch (static_cast<OpId>(op.op)) {
    case OpId::copy_h2d:
      writes(out, {as<ops::CopyH2d>(op).address, as<ops::CopyH2d>(op).bytes});
      break;
    case OpId::copy_d2h:
      reads(out, {as<ops::CopyD2h>(op).address, as<ops::CopyD2h>(op).bytes});
      break;
    case OpId::copy_d2h_pinned:
      reads(out, {as<ops::CopyD2hPinned>(op).address, as<ops::CopyD2hPinned>(op).bytes});
      break;
    case OpId::copy_d2d:
      reads(out, {as<ops::CopyD2d>(op).source, as<ops::CopyD2d>(op).bytes});
      writes(out, {as<ops::CopyD2d>(op).destination, as<ops::CopyD2d>(op).bytes});
      break;
    case OpId::copy_2d: {
      const auto& copy = as<ops::Copy2d>(op);
      reads(out, rows(copy.source, copy.source_pitch, copy.width, copy.height));
      writes(out, rows(copy.destination, copy.destination_pitch, copy.width, copy.height));
      break;
    }
    case OpId::fill:
      writes(out, {as<ops::Fill>(op).address, as<ops::Fill>(op).bytes});
      break;
    case OpId::collective:
      collective(as<ops::Collective>(op), out);
      break;
    case OpId::matmul:
      product(as<ops::Matmul>(op), out);
      break;
    case OpId::operator_call:
    case OpId::operator_query:
      calls(op, out);
      break;
    default:
      break;
  }
  return out;
}

std::string OperandReader::name(const ops::OpHeader& op) {
  switch (static_cast<OpId>(op.op)) {
    case OpId::copy_h2d:
      return "a copy from the host";
    case OpId::copy_d2h:
    case OpId::copy_d2h_pinned:
      return "a copy to the host";
    case OpId::copy_d2d:
    case OpId::copy_2d:
      return "a copy on the device";
    case OpId::fill:
      return "a fill";
    case OpId::matmul:
      return "a matrix product";
    case OpId::collective: {
      const auto items = items_of(as<ops::Collective>(op));
      const std::string first = kind_name(items.empty() ? UINT32_MAX : items.front().kind);
      return items.size() < 2 ? first
                              : first + " and " + std::to_string(items.size() - 1) + " more in a group";
    }
    default:
      break;
  }
  wire::CallHeader header;
  const auto* const bytes = reinterpret_cast<const char*>(&op) + sizeof op;
  const size_t left = op.size - sizeof op;
  if (left < sizeof header) return "an operator";
  std::memcpy(&header, bytes, sizeof header);
  return {bytes + sizeof header, std::min<size_t>(header.name_size, left - sizeof header)};
}

}  // namespace jitc::software::order
