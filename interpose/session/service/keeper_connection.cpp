// See keeper_connection.h. The other end is proxy/keeper/process/programs.py: unstructured packets.
#include "keeper_connection.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "session/process.h"

namespace jitc::session {
namespace {

constexpr const char* kName = ".d/programs";
constexpr size_t kTicketBytes = 32;
// The keeper does not wait.
constexpr timeval kPatience{10, 0};

/// Receives, again after a signal; returns recvmsg's result, with errno as a negative number.
ssize_t receive(int fd, msghdr* message) {
  for (;;) {
    const ssize_t size = ::recvmsg(fd, message, MSG_CMSG_CLOEXEC);
    if (size >= 0) return size;
    if (errno != EINTR) return -errno;
  }
}

int connect_to(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  for (;;) {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return 0;
    if (errno != EINTR) return errno == EAGAIN ? -ETIMEDOUT : -errno;
  }
}

/// Returns the descriptor that came with a message; -1: none.
int descriptor_of(msghdr& message) {
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

}  // namespace

int KeeperConnection::open(const std::string& service_socket) {
  close();
  fd_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return -errno;
  close_in_children(fd_);  // before connecting: no child may keep a session alive
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  char ticket[kTicketBytes];
  iovec part{ticket, sizeof ticket};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const int error = connect_to(fd_, service_socket + kName);
  const ssize_t size = error < 0 ? error : receive(fd_, &message);
  if (size == static_cast<ssize_t>(kTicketBytes)) return ticket_.assign(ticket, kTicketBytes), 0;
  close();
  if (size >= 0) return -ECONNRESET;
  return size == -EAGAIN ? -ETIMEDOUT : static_cast<int>(size);
}

bool KeeperConnection::stands() const {
  if (fd_ < 0) return false;
  char byte = 0;
  const ssize_t size = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

int KeeperConnection::memory(const std::string& token) {
  if (fd_ < 0 || ::send(fd_, token.data(), token.size(), MSG_NOSIGNAL) < 0) return -1;
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  return receive(fd_, &message) > 0 ? descriptor_of(message) : -1;
}

void KeeperConnection::close() {
  ticket_.clear();
  if (fd_ < 0) return;
  keep_in_children(fd_);
  ::close(fd_);
  fd_ = -1;
}

}  // namespace jitc::session
