// See staging.h.
#include "staging.h"

#include <cstring>

namespace jitc::software {
namespace {
bool inside(const std::byte* one, uint64_t bytes, const std::byte* other, uint64_t other_bytes) {
  return one && other && one >= other && one + bytes <= other + other_bytes;
}
}  // namespace

Staging::Staging(std::span<Run* const> runs) {
  for (Run* const run : runs)
    if (run && !run->done()) move(run->call());
}

std::byte* Staging::copy(const std::byte* from, uint64_t bytes) {
  return from ? memory_.emplace_back(from, from + bytes).data() : nullptr;
}

void Staging::move(Call& call) {
  std::byte* const receive = call.receive;
  if (inside(call.receive, call.receive_bytes, call.send, call.send_bytes)) {
    std::byte* const send = copy(call.send, call.send_bytes);
    call.receive = send + (call.receive - call.send);
    call.send = send;
  } else {
    call.receive = copy(call.receive, call.receive_bytes);
    call.send = inside(call.send, call.send_bytes, receive, call.receive_bytes)
                    ? call.receive + (call.send - receive)
                    : copy(call.send, call.send_bytes);
  }
  call.factor = copy(call.factor, call.width);
  if (receive) moved_.push_back({receive, call.receive_bytes, call.receive});
}

void Staging::give_back() const {
  for (const auto& [to, bytes, from] : moved_)
    if (bytes) std::memcpy(to, from, bytes);
}

}  // namespace jitc::software
