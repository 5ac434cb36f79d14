// See segment.h.
#include "segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace jitc::fakes {
struct Segment::Header {
  uint64_t secret;
  std::atomic<int> ranks;
  std::atomic<uint32_t> doorbell;
};

namespace {
constexpr size_t kHeaderBytes = 4096;
constexpr long kLookAgainNanoseconds = 20'000'000;

struct Id {
  char magic[8];
  int32_t pid, file;
  uint64_t secret;
};
constexpr char kMagic[8] = {'j', 'i', 't', 'c', 'n', 'c', 'c', 'l'};

size_t size_for(int ranks) {
  const auto count = static_cast<size_t>(ranks);
  return kHeaderBytes + count * (sizeof(RankSlot) + Segment::kExchangeBytes) +
         count * count * sizeof(Channel);
}

int reopen(const Id& id) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", id.pid, id.file);
  return ::open(path, O_RDWR | O_CLOEXEC);
}
}  // namespace

ncclUniqueId Segment::make() {
  Id id = {};
  std::memcpy(id.magic, kMagic, sizeof kMagic);
  id.pid = ::getpid();
  id.file = ::memfd_create("jitc-fake-nccl", MFD_CLOEXEC);
  if (::getrandom(&id.secret, sizeof id.secret, 0) < 0 || ::ftruncate(id.file, kHeaderBytes) != 0 ||
      ::pwrite(id.file, &id.secret, sizeof id.secret, 0) < 0)
    id = {};
  ncclUniqueId out = {};
  std::memcpy(out.internal, &id, sizeof id);
  return out;
}

std::unique_ptr<Segment> Segment::open(const ncclUniqueId& unique, int ranks) {
  Id id;
  std::memcpy(&id, unique.internal, sizeof id);
  const int file = std::memcmp(id.magic, kMagic, sizeof kMagic) == 0 ? reopen(id) : -1;
  if (file < 0) return nullptr;
  const size_t size = size_for(ranks);
  uint64_t secret = 0;
  const bool good = ::pread(file, &secret, sizeof secret, 0) == sizeof secret && secret == id.secret &&
                    ::lseek(file, 0, SEEK_END) >= 0 && ::ftruncate(file, static_cast<off_t>(size)) == 0;
  void* start = good ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (start == MAP_FAILED) return nullptr;
  std::unique_ptr<Segment> segment(new Segment(start, size, ranks));
  int nobody = 0;
  const bool first = segment->header_->ranks.compare_exchange_strong(nobody, ranks);
  return first || nobody == ranks ? std::move(segment) : nullptr;
}

Segment::Segment(void* start, size_t size, int ranks)
    : header_(static_cast<Header*>(start)),
      size_(size),
      ranks_(ranks),
      slots_(reinterpret_cast<RankSlot*>(static_cast<std::byte*>(start) + kHeaderBytes)),
      exchange_(reinterpret_cast<std::byte*>(slots_ + ranks)),
      channels_(reinterpret_cast<Channel*>(exchange_ + static_cast<size_t>(ranks) * kExchangeBytes)) {}

Segment::~Segment() { ::munmap(header_, size_); }

void Segment::wake() {
  ++header_->doorbell;
  ::syscall(SYS_futex, &header_->doorbell, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool Segment::wait(const std::atomic<bool>& aborted, const std::function<bool()>& reached) {
  for (;;) {
    const uint32_t before = header_->doorbell;
    if (aborted) return false;
    if (reached()) return true;
    look();
    const timespec limit = {0, kLookAgainNanoseconds};
    ::syscall(SYS_futex, &header_->doorbell, FUTEX_WAIT, before, &limit, nullptr, 0);
  }
}

}  // namespace jitc::fakes
