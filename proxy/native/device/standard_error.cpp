// See standard_error.h.
#include "standard_error.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>

namespace jitc {
namespace {

/// Protection from SIGPIPE on a write without a reader. The process need not ignore it (Python does).
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec none{};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &none);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

void write_all(int descriptor, const char* line, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, line, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line += written;
    size -= static_cast<size_t>(written);
  }
}

void write_if_room(int descriptor, const char* line, size_t size) {
  pollfd room{descriptor, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 1 && room.revents == POLLOUT) [[maybe_unused]]
    const ssize_t written = ::write(descriptor, line, std::min<size_t>(size, PIPE_BUF));
}

void write_without_waiting(int descriptor, const char* line, size_t size) {
  struct stat what{};
  if (::fstat(descriptor, &what) != 0) return;
  const WithoutSigpipe quiet;
  if (S_ISSOCK(what.st_mode)) {
    ::send(descriptor, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  // A file's write position belongs to this description, which others share.
  if (S_ISREG(what.st_mode)) return write_all(descriptor, line, size);
  // Own description: non-blocking mode is a property of it, and others share the first one.
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  const int own = ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own < 0) return write_if_room(descriptor, line, size);  // another user's, or no descriptor is left
  write_all(own, line, size);
  ::close(own);
}

}  // namespace

void say(const char* format, ...) {
  constexpr int kLine = 1024;
  char line[kLine] = "jitc-worker: ";
  constexpr int kName = 13;
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line + kName, kLine - kName - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  const int end = kName + std::min(length, kLine - kName - 2);
  line[end] = '\n';
  write_without_waiting(STDERR_FILENO, line, static_cast<size_t>(end) + 1);
}

}  // namespace jitc
