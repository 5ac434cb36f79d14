// See shared_segment.h. A doorbell is a futex shared between processes; sleepers register first, so ringing
// costs no system call while no thread sleeps.
#include "shared_segment.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <functional>

#include "base/dumps.h"
#include "error.h"

namespace jitc::device {
namespace {

bool with_head(const std::string& path, std::string& error, const std::function<void(SegmentHead&)>& act) {
  SharedSegment segment;
  if (!segment.map(path, SharedSegment::size_for(0), 0, error)) return false;
  act(*reinterpret_cast<SegmentHead*>(segment.data() - SharedSegment::size_for(0)));
  return true;
}
}  // namespace

void Doorbell::ring() {
  rung_.fetch_add(1);
  if (sleepers_.load() != 0) syscall(SYS_futex, &rung_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::sleep(uint32_t seen, int64_t microseconds) {
  const timespec time{microseconds / 1000000, microseconds % 1000000 * 1000};
  sleepers_.fetch_add(1);
  syscall(SYS_futex, &rung_, FUTEX_WAIT, seen, &time, nullptr, 0);
  sleepers_.fetch_sub(1);
}

bool SharedSegment::map(const std::string& path, uint64_t announced, uint64_t bytes, std::string& error) {
  const OpenFile file(path);
  if (!file) return error = "cannot open the communicator's segment: " + file.reason(), false;
  return map(&file, announced, bytes, error);
}

bool SharedSegment::map(const OpenFile* file, uint64_t announced, uint64_t bytes, std::string& error) {
  const uint64_t size = size_for(bytes);
  if (file) {
    struct stat status{};
    if (fstat(file->get(), &status) != 0)
      return error = "cannot look at the communicator's segment: " + std::string(std::strerror(errno)), false;
    if (announced < size || status.st_size < static_cast<off_t>(size))
      return error = "the communicator's segment is too small", false;
  }
  const int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const got =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file ? file->get() : -1, 0);
  if (got == MAP_FAILED)
    return error = "cannot map the communicator's segment: " + std::string(std::strerror(errno)), false;
  leave_out_of_dumps(got, size);
  memory_ = static_cast<std::byte*>(got);
  bytes_ = size;
  return true;
}

void SharedSegment::join(CommunicatorSegments& segments, const Resources::Communicator& communicator,
                         uint64_t bytes) {
  std::string error;
  if (communicator.ranks < 2) {
    if (!map(nullptr, 0, bytes, error)) refuse(kUnknown, "communicator", error);
    return;
  }
  const auto rank = static_cast<uint32_t>(communicator.rank);
  const auto ask = [&] {
    return segments.join(communicator.unique_id, static_cast<uint32_t>(communicator.ranks), rank);
  };
  // If a recovery begins between the service's answer and the keeper's, the keeper no longer has the segment:
  // the service is asked again, and reports that.
  CommunicatorSegment given = ask();
  while (!take(given, bytes, error)) {
    CommunicatorSegment again = ask();
    if (again.file && again.identity == given.identity) refuse(kUnknown, "communicator", error);
    given = std::move(again);
  }
  if (rank >= SegmentHead::kMostRanks) return;
  rank_ = communicator.rank;
}

bool SharedSegment::take(const CommunicatorSegment& given, uint64_t bytes, std::string& error) {
  if (given.superseded) throw Abandoned{};
  if (!given.file)
    refuse(given.status, given.status == kExternalDevice ? kCommunicatorEnded : "communicator-refused",
           "cannot join the communicator: " + given.error);
  unmap();
  if (!*given.file) return error = "the communicator's segment has been given up", false;
  if (!map(given.file.get(), given.bytes, bytes, error)) return false;
  if (head().identity.load() == given.identity) return true;
  return error = "the communicator's segment is another one", false;
}

void SharedSegment::refuse_absent() const {
  refuse(kExternalDevice, kCommunicatorEnded, head().reason.data());
}

SharedSegment::~SharedSegment() {
  if (memory_ && rank_ >= 0) head().left[static_cast<uint32_t>(rank_)].fetch_add(1);
  unmap();
}

void SharedSegment::unmap() {
  if (memory_) munmap(memory_, bytes_);
  memory_ = nullptr;
}

bool mark_segment(const std::string& path, uint64_t identity, std::string& error) {
  return with_head(path, error, [&](SegmentHead& head) { head.identity.store(identity); });
}

bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error) {
  if (rank >= SegmentHead::kMostRanks)
    return error = "there is no rank " + std::to_string(rank) + " in a communicator", false;
  return with_head(path, error, [&](SegmentHead& head) {
    const bool first = std::none_of(head.absent.begin(), head.absent.end(),
                                    [](const auto& ranks) { return ranks.load() != 0; });
    if (first) head.reason[why.copy(head.reason.data(), head.reason.size() - 1)] = 0;
    head.absent[rank / 64].fetch_or(uint64_t{1} << rank % 64);
  });
}

bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error) {
  if (ranks > SegmentHead::kMostRanks) return error = "a communicator has fewer ranks", false;
  return with_head(path, error, [&](const SegmentHead& head) {
    for (uint32_t rank = 0; rank < ranks; ++rank) counts[rank] = head.left[rank].load();
  });
}

}  // namespace jitc::device
