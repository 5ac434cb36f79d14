// See staging.h.
#include "staging.h"

#include <tuple>

#include "device/common/turns/operand_copies.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr uint64_t kAlignment = 256;

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

void* host(uint64_t address) { return reinterpret_cast<void*>(address); }
}  // namespace

std::vector<ops::CollectiveItem> Staging::take(std::span<const CollectiveCall::Operands> operands,
                                               abi::CUstream stream) {
  uint64_t bytes = 0;
  for (const auto& one : operands)
    bytes += rounded(one.send_bytes) + rounded(one.receive_bytes) + rounded(one.scale_bytes);
  if (bytes > size_) {
    memory_.reset();
    memory_ = std::make_unique<HostMemory>(context_, size_ = bytes);
  }
  used_ = 0;
  clear();
  std::vector<ops::CollectiveItem> items;
  for (const auto& one : operands) move(one, items.emplace_back(one.item), stream);
  check(context_->driver(), "cuStreamSynchronize", context_->driver().cuStreamSynchronize(stream));
  return items;
}

uint64_t Staging::copy(uint64_t from, uint64_t bytes, abi::CUstream stream) {
  if (!bytes) return from;
  const Driver& driver = context_->driver();
  std::byte* const to = memory_->data() + used_;
  used_ += rounded(bytes);
  check(driver, "cuMemcpyDtoHAsync", driver.cuMemcpyDtoHAsync(to, from, bytes, stream));
  return reinterpret_cast<uint64_t>(to);
}

/// Copies received memory too: NCCL may leave parts of it unchanged.
void Staging::move(const CollectiveCall::Operands& operands, ops::CollectiveItem& item,
                   abi::CUstream stream) {
  const auto& [given, send_bytes, receive_bytes, scale_bytes] = operands;
  using Operand = device::Operand<uint64_t>;
  std::tie(item.send, item.receive) =
      device::copies_of(Operand{given.send, send_bytes}, Operand{given.receive, receive_bytes},
                        [&](const Operand& one) { return copy(one.address, one.bytes, stream); });
  if (scale_bytes) item.scale_address = copy(given.scale_address, scale_bytes, stream);
  if (receive_bytes) received_.push_back({given.receive, item.receive, receive_bytes});
}

void Staging::give_back(abi::CUstream stream) {
  const Driver& driver = context_->driver();
  for (const auto& [device, from, bytes] : received_)
    check(driver, "cuMemcpyHtoDAsync", driver.cuMemcpyHtoDAsync(device, host(from), bytes, stream));
  check(driver, "cuStreamSynchronize", driver.cuStreamSynchronize(stream));
}

bool Staging::contains(uint64_t address, uint64_t bytes) const {
  return memory_ && device::Operand<uint64_t>{address, bytes}.is_inside(
                        {reinterpret_cast<uint64_t>(memory_->data()), size_});
}

}  // namespace jitc::cuda
