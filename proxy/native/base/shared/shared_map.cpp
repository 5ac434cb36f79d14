#include "shared_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/dumps.h"
#include "base/error.h"

namespace jitc {
namespace {
[[noreturn]] void fail(int fd, const std::string& what, const std::string& path) {
  const int code = errno;
  if (fd >= 0) close(fd);
  throw Error(what + " " + path + ": " + std::strerror(code));
}
}  // namespace

SharedMap::SharedMap(const std::string& path, uint64_t bytes, Access access) : size_(bytes) {
  const bool writes = access == Access::write;
  const int fd = open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) fail(fd, "cannot open", path);
  struct stat status{};
  if (fstat(fd, &status) != 0) fail(fd, "cannot look at", path);
  const bool shorter = static_cast<uint64_t>(status.st_size) < bytes;
  if (shorter && !writes) {
    close(fd);
    throw Error(path + " has " + std::to_string(status.st_size) + " bytes, not " + std::to_string(bytes));
  }
  if (shorter && ftruncate(fd, static_cast<off_t>(bytes)) != 0) fail(fd, "cannot enlarge", path);
  const int protection = PROT_READ | (writes ? PROT_WRITE : 0);
  void* const map = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (map == MAP_FAILED) fail(fd, "cannot map " + std::to_string(bytes) + " bytes of", path);
  leave_out_of_dumps(map, bytes);
  fd_ = fd;
  data_ = static_cast<std::byte*>(map);
}

SharedMap::SharedMap(SharedMap&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMap& SharedMap::operator=(SharedMap&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMap::~SharedMap() {
  if (data_) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

bool SharedMap::reserve(uint64_t offset, uint64_t bytes) const {
  // Without this, a write to a full disk would raise SIGBUS. On a file system without fallocate, writes are
  // tried.
  int code;
  do code = fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (code != 0 && errno == EINTR);
  return code == 0 || errno == EOPNOTSUPP;
}

std::map<uint64_t, uint64_t> SharedMap::holes() const {
  std::map<uint64_t, uint64_t> found;
  const auto end = static_cast<off_t>(size_);
  off_t at = 0;
  while (at < end) {
    const off_t hole = lseek(fd_, at, SEEK_HOLE);
    if (hole < 0 || hole >= end) break;
    const off_t data = lseek(fd_, hole, SEEK_DATA);  // fails where there is none any more
    at = data < 0 ? end : data;
    found[static_cast<uint64_t>(hole)] = static_cast<uint64_t>(at - hole);
  }
  return found;
}

void SharedMap::release(uint64_t offset, uint64_t bytes) const {
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(bytes));
}

}  // namespace jitc
