// See staging.h.
#include "staging.h"

#include <cstring>

#include "device/common/turns/operand_copies.h"

namespace jitc::software {

Staging::Staging(std::span<Run* const> runs) {
  for (Run* const run : runs)
    if (run && !run->done()) move(run->call());
}

std::byte* Staging::copy(const std::byte* from, uint64_t bytes) {
  return from ? memory_.emplace_back(from, from + bytes).data() : nullptr;
}

void Staging::move(Call& call) {
  using Operand = device::Operand<const std::byte*>;
  std::byte* const receive = call.receive;
  const auto [sent, received] = device::copies_of(
      Operand{call.send, call.send_bytes}, Operand{receive, call.receive_bytes},
      [this](const Operand& one) -> const std::byte* { return copy(one.address, one.bytes); });
  call.send = sent;
  call.receive = const_cast<std::byte*>(received);  // in memory_
  call.factor = copy(call.factor, call.width);
  if (receive) moved_.push_back({receive, call.receive_bytes, received});
}

void Staging::give_back() const {
  for (const auto& [to, bytes, from] : moved_)
    if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace jitc::software
