// See operands.h.
#include "operands.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/common/collective_shape.h"
#include "device/common/operands.h"
#include "device/software/arithmetic/reduce.h"
#include "device/software/errors/error.h"
#include "jitc/generated_op_traits.h"
#include "jitc/operator_call.h"

namespace jitc::software::order {
namespace {
void reads(Operands& out, Region region) { out.push_back({std::move(region), false}); }
void writes(Operands& out, Region region) { out.push_back({std::move(region), true}); }

Region rows(uint64_t address, uint64_t pitch, uint64_t width, uint64_t height) {
  const std::array sizes{static_cast<int64_t>(height), static_cast<int64_t>(width)};
  const std::array steps{static_cast<int64_t>(pitch), int64_t{1}};
  return {address, 1, sizes, steps};
}

Region slices(uint64_t address, uint64_t slice, uint64_t pitch, const ops::Copy3d& op) {
  const std::array sizes{static_cast<int64_t>(op.depth), static_cast<int64_t>(op.height),
                         static_cast<int64_t>(op.width)};
  const std::array steps{static_cast<int64_t>(slice), static_cast<int64_t>(pitch), int64_t{1}};
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

std::string name_of(std::span<const ops::CollectiveItem> items) {
  const std::string first = kind_name(items.empty() ? UINT32_MAX : items.front().kind);
  return items.size() < 2 ? first : first + " and " + std::to_string(items.size() - 1) + " more in a group";
}

std::string operator_name(const ops::OpHeader& op) {
  wire::CallHeader header;
  const auto* const bytes = reinterpret_cast<const char*>(&op) + sizeof op;
  const size_t left = op.size - sizeof op;
  if (left < sizeof header) return "an operator";
  std::memcpy(&header, bytes, sizeof header);
  return {bytes + sizeof header, std::min<size_t>(header.name_size, left - sizeof header)};
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
  const ops::Overloaded add{
      [&](const ops::CopyH2d& one) { writes(out, {one.address, one.bytes}); },
      [&](const ops::CopyD2h& one) { reads(out, {one.address, one.bytes}); },
      [&](const ops::CopyD2hPinned& one) { reads(out, {one.address, one.bytes}); },
      [&](const ops::CopyD2d& one) {
        reads(out, {one.source, one.bytes});
        writes(out, {one.destination, one.bytes});
      },
      [&](const ops::Copy2d& one) {
        reads(out, rows(one.source, one.source_pitch, one.width, one.height));
        writes(out, rows(one.destination, one.destination_pitch, one.width, one.height));
      },
      [&](const ops::Copy3d& one) {
        reads(out, slices(one.source, one.source_slice, one.source_pitch, one));
        writes(out, slices(one.destination, one.destination_slice, one.destination_pitch, one));
      },
      [&](const ops::Fill& one) { writes(out, {one.address, one.bytes}); },
      [&](const ops::Collective& one) { collective(one, out); },
      [&](const ops::Matmul& one) { product(one, out); },
      [&](const ops::OperatorCall& one) { calls(one.header, out); },
      [&](const ops::OperatorQuery& one) { calls(one.header, out); },
      [](const auto&) {},
  };
  ops::visit(op, add);
  return out;
}

std::string OperandReader::name(const ops::OpHeader& op) {
  std::string name;
  const ops::Overloaded tell{
      [&](const ops::CopyH2d&) { name = "a copy from the host"; },
      [&](const ops::CopyD2h&) { name = "a copy to the host"; },
      [&](const ops::CopyD2hPinned&) { name = "a copy to the host"; },
      [&](const ops::CopyD2d&) { name = "a copy on the device"; },
      [&](const ops::Copy2d&) { name = "a copy on the device"; },
      [&](const ops::Copy3d&) { name = "a copy on the device"; },
      [&](const ops::Fill&) { name = "a fill"; },
      [&](const ops::Matmul&) { name = "a matrix product"; },
      [&](const ops::Collective& one) { name = name_of(items_of(one)); },
      [&](const auto&) { name = operator_name(op); },
  };
  ops::visit(op, tell);
  return name;
}

}  // namespace jitc::software::order
