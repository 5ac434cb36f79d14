#include "pinned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace jitc::session {

bool is_ours(const PinnedRegion& region) {
  struct stat status{};
  if (::fstat(region.fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<uint64_t>(status.st_size) < region.bytes) return false;
  const int seals = ::fcntl(region.fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK)) return false;
  std::string head(region.token.size(), 0);
  const auto size = static_cast<ssize_t>(head.size());
  return size > 0 && ::pread(region.fd, head.data(), head.size(), 0) == size && head == region.token;
}

}  // namespace jitc::session
