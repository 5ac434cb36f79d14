// See segment.h.
#include "segment.h"

#include <algorithm>
#include <bit>

namespace jitc::software {
namespace {
constexpr uint64_t kMailboxes = 64u << 20;  // of one communicator together, as far as possible
constexpr uint64_t kSmallest = 4096, kLargest = 256u << 10;
}  // namespace

uint64_t Segment::letters_of(uint32_t ranks) {
  const uint64_t pairs = std::max<uint64_t>(1, uint64_t{ranks} * ranks);
  return std::clamp(std::bit_floor(std::max<uint64_t>(1, kMailboxes / pairs)), kSmallest, kLargest);
}
uint64_t Segment::boxes_at(uint32_t ranks) {
  return (uint64_t{ranks} * sizeof(RankArea) + 4095) / 4096 * 4096;
}
uint64_t Segment::mailboxes_at(uint32_t ranks) { return boxes_at(ranks) + uint64_t{ranks} * 2 * kBox; }
uint64_t Segment::content(uint32_t ranks) {
  return mailboxes_at(ranks) + uint64_t{ranks} * ranks * (sizeof(Mailbox) + letters_of(ranks));
}

std::byte* Segment::box(uint32_t rank, uint64_t round) const {
  return memory_.data() + boxes_at(ranks_) + (uint64_t{rank} * 2 + round % 2) * kBox;
}

Mailbox& Segment::mailbox(uint32_t from, uint32_t to) const {
  const uint64_t index = uint64_t{from} * ranks_ + to;
  return *reinterpret_cast<Mailbox*>(memory_.data() + mailboxes_at(ranks_) +
                                     index * (sizeof(Mailbox) + letters_of(ranks_)));
}

void Segment::ring_all() const {
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if (rank != rank_) area(rank).doorbell.ring();
  memory_.ring_bridge();
}

}  // namespace jitc::software
