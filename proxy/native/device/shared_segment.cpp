// See shared_segment.h. A doorbell is a futex shared between processes; sleepers register first, so ringing
// costs no system call while nobody sleeps.
#include "shared_segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace jitc::device {
namespace {

/// A descriptor that is closed.
class File {
 public:
  explicit File(const std::string& path)
      : file_(path.empty() ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC)), reason_(errno) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return file_; }
  std::string reason() const { return std::strerror(reason_); }

 private:
  const int file_, reason_;
};
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
  const File file(path);
  if (!path.empty()) {
    if (file.get() < 0) return error = "cannot open the communicator's segment: " + file.reason(), false;
    const off_t there = lseek(file.get(), 0, SEEK_END);
    if (announced < bytes || there < static_cast<off_t>(bytes))
      return error = "the communicator's segment is too small", false;
  }
  const int flags = file.get() < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file.get(), 0);
  if (got == MAP_FAILED)
    return error = "cannot map the communicator's segment: " + std::string(std::strerror(errno)), false;
  data_ = static_cast<std::byte*>(got);
  bytes_ = bytes;
  return true;
}

SharedSegment::~SharedSegment() {
  if (data_) munmap(data_, bytes_);
}

}  // namespace jitc::device
