// See operands.h.
#include "operands.h"

#include "error.h"

namespace jitc::device {

std::string about(const ops::OpHeader& op, const ops::OpInfo* info, const std::string& message) {
  const std::string name = info ? std::string(info->name) : "id " + hex(op.op);
  return "op " + name + " (sequence " + std::to_string(op.sequence) + "): " + message;
}

std::span<const ops::CollectiveItem> items_of(const ops::Collective& op) {
  const uint64_t room = (op.header.size - sizeof op) / sizeof(ops::CollectiveItem);
  if (op.count > room) refuse_value("the payload is shorter than its collectives");
  return {reinterpret_cast<const ops::CollectiveItem*>(&op + 1), op.count};
}

void check_result_bytes(uint64_t bytes) {
  if (bytes > kLargestResult) refuse_value("more than 1 MiB in one copy to the host");
}

void check_fill(const ops::Fill& op) {
  const bool known = op.width == 1 || op.width == 2 || op.width == 4;
  if (!known || op.bytes % op.width != 0 || op.address % op.width != 0)
    refuse_value("the fill's address and size are not multiples of its width 1, 2 or 4");
}

uint64_t pitched_bytes(const char* name, uint64_t pitch, uint64_t width, uint64_t height) {
  uint64_t bytes = 0;
  if (pitch < width && height > 1) refuse_value(std::string(name) + " pitch is smaller than the width");
  if (__builtin_mul_overflow(pitch, height - 1, &bytes) || __builtin_add_overflow(bytes, width, &bytes))
    refuse_value(std::string(name) + " size overflows");
  return bytes;
}

}  // namespace jitc::device
