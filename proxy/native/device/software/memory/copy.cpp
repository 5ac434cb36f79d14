// See copy.h. Sizes come from the client: each product and sum is checked before it is used.
#include "copy.h"

#include <cstring>

#include "base/checksum.h"
#include "device/common/operands.h"
#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
const std::byte* payload(const ops::CopyH2d& op) { return reinterpret_cast<const std::byte*>(&op + 1); }

void copy_halves(ExecutionSink& sink, const ops::OpHeader& op, std::byte* to, const std::byte* from,
                 uint64_t bytes) {
  const uint64_t half = bytes / 2;
  const bool backwards = to > from;  // as memmove: each half is read before the other one overwrites it
  const uint64_t first = backwards ? half : 0, second = backwards ? 0 : half;
  if (bytes) std::memmove(to + first, from + first, backwards ? bytes - half : half);
  sink.injection_point(op, "copy");
  if (bytes) std::memmove(to + second, from + second, backwards ? half : bytes - half);
}

template <class T>
void fill_with(std::byte* to, uint64_t bytes, T value) {
  for (uint64_t at = 0; at < bytes; at += sizeof(T)) std::memcpy(to + at, &value, sizeof(T));
}
}  // namespace

std::byte* operand(const Memory& memory, const ops::OpHeader& op, const char* name, uint64_t address,
                   uint64_t bytes) {
  if (bytes == 0) return nullptr;
  if (void* const found = memory.find(address, bytes, op.sequence)) return static_cast<std::byte*>(found);
  refuse_address(name, address, bytes);
}

void copy_h2d(const Memory& memory, ExecutionSink& sink, const ops::CopyH2d& op) {
  if (op.bytes > op.header.size - sizeof op) refuse_value("the payload is shorter than the copy");
  std::byte* const to = operand(memory, op.header, "destination", op.address, op.bytes);
  copy_halves(sink, op.header, to, payload(op), op.bytes);
}

std::span<const std::byte> copy_d2h(const Memory& memory, ExecutionSink& sink, const ops::CopyD2h& op) {
  static thread_local std::vector<std::byte> buffer;
  check_result_bytes(op.bytes);
  const std::byte* const from = operand(memory, op.header, "source", op.address, op.bytes);
  if (buffer.size() < op.bytes) buffer.resize(op.bytes);
  copy_halves(sink, op.header, buffer.data(), from, op.bytes);
  return {buffer.data(), op.bytes};
}

Hash copy_d2h_pinned(const Memory& memory, const PinnedRange& pinned, ExecutionSink& sink,
                     const ops::CopyD2hPinned& op) {
  check_result_bytes(op.bytes);
  const std::byte* const from = operand(memory, op.header, "source", op.address, op.bytes);
  std::byte* const to = pinned.find(op.destination, op.bytes);
  if (!to) refuse_value("the destination is not pinned memory of this session");
  if (sink.delivered(op.header.sequence))
    sink.injection_point(op.header, "copy");
  else
    copy_halves(sink, op.header, to, from, op.bytes);
  return hash_bytes({from, op.bytes});
}

void copy_d2d(const Memory& memory, ExecutionSink& sink, const ops::CopyD2d& op) {
  std::byte* const to = operand(memory, op.header, "destination", op.destination, op.bytes);
  const std::byte* const from = operand(memory, op.header, "source", op.source, op.bytes);
  copy_halves(sink, op.header, to, from, op.bytes);
}

void copy_2d(const Memory& memory, ExecutionSink& sink, const ops::Copy2d& op) {
  if (op.width == 0 || op.height == 0) return;
  const uint64_t written = pitched_bytes("destination", op.destination_pitch, op.width, op.height);
  const uint64_t read = pitched_bytes("source", op.source_pitch, op.width, op.height);
  std::byte* const to = operand(memory, op.header, "destination", op.destination, written);
  const std::byte* const from = operand(memory, op.header, "source", op.source, read);
  for (uint64_t row = 0; row < op.height; ++row) {
    if (row == op.height / 2) sink.injection_point(op.header, "copy");
    std::memmove(to + row * op.destination_pitch, from + row * op.source_pitch, op.width);
  }
}

void copy_3d(const Memory& memory, ExecutionSink& sink, const ops::Copy3d& op) {
  if (op.width == 0 || op.height == 0 || op.depth == 0) return;
  const uint64_t written = sliced_bytes("destination", op.destination_slice, op.destination_pitch, op);
  const uint64_t read = sliced_bytes("source", op.source_slice, op.source_pitch, op);
  std::byte* const to = operand(memory, op.header, "destination", op.destination, written);
  const std::byte* const from = operand(memory, op.header, "source", op.source, read);
  for (uint64_t slice = 0; slice < op.depth; ++slice) {
    if (slice == op.depth / 2) sink.injection_point(op.header, "copy");
    for (uint64_t row = 0; row < op.height; ++row)
      std::memmove(to + slice * op.destination_slice + row * op.destination_pitch,
                   from + slice * op.source_slice + row * op.source_pitch, op.width);
  }
}

void fill(const Memory& memory, const ops::Fill& op) {
  check_fill(op);
  std::byte* const to = operand(memory, op.header, "destination", op.address, op.bytes);
  if (op.bytes == 0) return;
  if (op.width == 1)
    std::memset(to, static_cast<int>(op.value & 0xff), op.bytes);
  else if (op.width == 2)
    fill_with(to, op.bytes, static_cast<uint16_t>(op.value));
  else
    fill_with(to, op.bytes, op.value);
}

}  // namespace jitc::software
