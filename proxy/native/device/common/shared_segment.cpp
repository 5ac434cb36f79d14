// See shared_segment.h.
#include "shared_segment.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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

/// Writes a reason that is zero-terminated at any time: its last byte is never written.
template <size_t kSize>
void write_reason(std::array<char, kSize>& to, const std::string& why) {
  to[why.copy(to.data(), kSize - 1)] = 0;
}
}  // namespace

void SegmentHead::leave(uint32_t rank, const std::string& why) {
  const bool first = std::ranges::none_of(absent, [](const auto& ranks) { return ranks.load() != 0; });
  if (first) write_reason(reason, why);
  absent[rank / 64].fetch_or(uint64_t{1} << rank % 64);
}

void SegmentHead::cut_off(const std::string& why) {
  if (cut.load() != 0) return;
  write_reason(cut_reason, why);
  cut.store(1);
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
  bridge_ = given.bridge;
  if (head().identity.load() == given.identity) return true;
  return error = "the communicator's segment is another one", false;
}

void SharedSegment::refuse_absent() const {
  refuse(kExternalDevice, kCommunicatorEnded, head().reason.data());
}

void SharedSegment::require_link() const {
  if (head().cut.load() == 0) return;
  refuse(kUnknown, "collective-error",
         "the connection to the other ranks is cut (" + std::string(head().cut_reason.data()) + ")");
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
  return with_head(path, error, [&](SegmentHead& head) { head.leave(rank, why); });
}

bool mark_cut(const std::string& path, const std::string& why, std::string& error) {
  return with_head(path, error, [&](SegmentHead& head) { head.cut_off(why); });
}

bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error) {
  if (ranks > SegmentHead::kMostRanks) return error = "a communicator has fewer ranks", false;
  return with_head(path, error, [&](const SegmentHead& head) {
    for (uint32_t rank = 0; rank < ranks; ++rank) counts[rank] = head.left[rank].load();
  });
}

}  // namespace jitc::device
