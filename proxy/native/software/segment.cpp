// See segment.h. The doorbell is a futex shared between processes. Sleepers register first, so ringing costs
// no system call while nobody sleeps.
#include "segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>

namespace jitc::software {
namespace {
constexpr uint64_t kMailboxes = 64u << 20;  // of one communicator together, as far as possible
constexpr uint64_t kSmallest = 4096, kLargest = 256u << 10;
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);
}  // namespace

uint64_t Segment::letters_of(uint32_t ranks) {
  const uint64_t pairs = std::max<uint64_t>(1, uint64_t{ranks} * ranks);
  return std::clamp(std::bit_floor(std::max<uint64_t>(1, kMailboxes / pairs)), kSmallest, kLargest);
}
uint64_t Segment::boxes_at(uint32_t ranks) {
  return (uint64_t{ranks} * sizeof(RankArea) + 4095) / 4096 * 4096;
}
uint64_t Segment::mailboxes_at(uint32_t ranks) { return boxes_at(ranks) + uint64_t{ranks} * 2 * kBox; }
uint64_t Segment::bytes(uint32_t ranks) {
  return mailboxes_at(ranks) + uint64_t{ranks} * ranks * (sizeof(Mailbox) + letters_of(ranks));
}

std::byte* Segment::box(uint32_t rank, uint64_t round) const {
  return base_ + boxes_at(ranks_) + (uint64_t{rank} * 2 + round % 2) * kBox;
}

Mailbox& Segment::mailbox(uint32_t from, uint32_t to) const {
  const uint64_t index = uint64_t{from} * ranks_ + to;
  return *reinterpret_cast<Mailbox*>(base_ + mailboxes_at(ranks_) +
                                     index * (sizeof(Mailbox) + letters_of(ranks_)));
}

bool Segment::map(const std::string& path, uint64_t size, std::string& error) {
  if (!path.empty() && size < bytes(ranks_)) return error = "the communicator's segment is too small", false;
  int file = -1;
  if (!path.empty()) {
    file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
      return error = "cannot open the communicator's segment: " + std::string(std::strerror(errno)), false;
    if (lseek(file, 0, SEEK_END) < static_cast<off_t>(bytes(ranks_))) {
      close(file);
      return error = "the communicator's segment is shorter than announced", false;
    }
  }
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const got = mmap(nullptr, bytes(ranks_), PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
  const int reason = errno;
  if (file >= 0) close(file);
  if (got == MAP_FAILED)
    return error = "cannot map the communicator's segment: " + std::string(std::strerror(reason)), false;
  base_ = static_cast<std::byte*>(got);
  return true;
}

Segment::~Segment() {
  if (base_) munmap(base_, bytes(ranks_));
}

void Segment::ring(uint32_t rank) const {
  RankArea& other = area(rank);
  other.doorbell.fetch_add(1);
  if (other.waiting.load() != 0)
    syscall(SYS_futex, &other.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Segment::ring_all() const {
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if (rank != rank_) ring(rank);
}

void Segment::sleep(uint32_t seen, int64_t microseconds) const {
  const timespec time{microseconds / 1000000, microseconds % 1000000 * 1000};
  own().waiting.fetch_add(1);
  syscall(SYS_futex, &own().doorbell, FUTEX_WAIT, seen, &time, nullptr, 0);
  own().waiting.fetch_sub(1);
}

}  // namespace jitc::software
