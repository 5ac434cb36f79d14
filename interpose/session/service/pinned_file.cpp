#include "pinned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace jitc::session {
namespace {

/// Whether the open file is what the service made for this session.
bool is_ours(int fd, const PinnedRegion& region) {
  struct stat status{};
  if (::fstat(fd, &status) != 0 || static_cast<uint64_t>(status.st_size) < region.bytes) return false;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK)) return false;
  std::string head(region.token.size(), 0);
  const auto size = static_cast<ssize_t>(head.size());
  return size > 0 && ::pread(fd, head.data(), head.size(), 0) == size && head == region.token;
}

}  // namespace

int open_pinned(const PinnedRegion& region) {
  struct stat status{};
  // stat comes first: opening a device or a pipe of another process would have an effect.
  if (region.path.empty() || ::stat(region.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  const int fd = ::open(region.path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || is_ours(fd, region)) return fd;
  ::close(fd);
  return -1;
}

}  // namespace jitc::session
