#include "socket.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace jitc::transport {
namespace {

// The descriptors that a forked child has to close. A fixed table of atomics, because the child must not
// touch a lock or the heap: another thread may have held them at the moment of the fork. If the table is
// full, a child keeps its copy of a descriptor until it ends.
std::array<std::atomic<int>, 512> open_descriptors;

void close_in_child() {
  for (auto& slot : open_descriptors) {
    // Slots hold fd + 1, so that the zero-initialised table is empty without a constructor.
    const int fd = slot.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) ::close(fd);
  }
}

void remember(int fd) {
  static const int once = pthread_atfork(nullptr, nullptr, close_in_child);
  (void)once;
  for (auto& slot : open_descriptors) {
    int empty = 0;
    if (slot.compare_exchange_strong(empty, fd + 1)) return;
  }
}

/// Forgets a descriptor. Returns false in a child, which has closed it already.
bool forget(int fd) {
  for (auto& slot : open_descriptors) {
    int mine = fd + 1;
    if (slot.compare_exchange_strong(mine, 0)) return true;
  }
  return false;
}

bool make_address(const std::string& path, sockaddr_un* address) {
  address->sun_family = AF_UNIX;
  if (path.size() >= sizeof address->sun_path) return false;
  std::memcpy(address->sun_path, path.c_str(), path.size() + 1);
  return true;
}

}  // namespace

Descriptor::Descriptor(int fd) : fd_(fd) {
  if (fd_ >= 0) remember(fd_);
}
Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}
void Descriptor::reset() {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && forget(fd)) ::close(fd);
}

Descriptor connect_unix(const std::string& path, int* error) {
  sockaddr_un address{};
  if (!make_address(path, &address)) return *error = -ENAMETOOLONG, Descriptor();
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return *error = -errno, Descriptor();
  const int buffer = 1 << 20;  // the kernel lowers it to its limit
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  // A unix socket connects at once or fails with EAGAIN while the listener's queue is full.
  for (int attempt = 0; ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
       ++attempt) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN || attempt == 100) return *error = -errno, Descriptor();
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return fd;
}

Descriptor listen_unix(const std::string& path, int* error) {
  constexpr int kQueue = 128;
  sockaddr_un address{};
  if (!make_address(path, &address)) return *error = -ENAMETOOLONG, Descriptor();
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Linux gives the socket's mode to the file that bind makes.
  if (!fd || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kQueue) != 0)
    return *error = -errno, Descriptor();
  return fd;
}

}  // namespace jitc::transport
