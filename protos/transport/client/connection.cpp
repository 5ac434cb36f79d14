#include "connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace jitc::transport {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
// Reads of one pump. A fast peer could fill more; but a waiter must be able to check whether it is done.
constexpr int kReads = 8;

}  // namespace

Connection::Connection(Descriptor socket, Request request, const jitc_stream_callbacks& callbacks)
    : socket_(std::move(socket)),
      call_(std::move(request), callbacks),
      in_(std::make_unique_for_overwrite<uint8_t[]>(kReadBytes)) {}

Connection::~Connection() { shut_down(); }

bool Connection::pump_out() {
  bool sent = false;
  while (!broken_) {
    call_.produce(out_);
    if (out_.size() == 0) break;
    sent |= flush();
    if (blocked_) break;
  }
  // Wakes a thread that sleeps on the socket: the call is over.
  if (call_.closed()) ::shutdown(socket_.get(), SHUT_RDWR);
  return sent;
}

/// Hands bytes to the kernel. A broken pipe is not the end yet: bytes of the peer may still wait to be read.
bool Connection::flush() {
  bool sent = false;
  blocked_ = false;
  while (out_.size() > 0) {
    const ssize_t size = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) {
      out_.consume(static_cast<size_t>(size));
      sent = true;
    } else if (errno == EAGAIN) {
      blocked_ = true;
      break;
    } else if (errno != EINTR) {
      broken_ = true;
      out_.consume(out_.size());
    }
  }
  return sent;
}

bool Connection::pump_in() {
  const uint64_t before = call_.delivered();
  for (int turn = 0; turn < kReads && !call_.closed(); ++turn) {
    const ssize_t size = ::recv(socket_.get(), in_.get(), kReadBytes, MSG_DONTWAIT);
    if (size > 0) {
      last_heard_ = Clock::now();
      call_.receive(in_.get(), static_cast<size_t>(size));
      if (static_cast<size_t>(size) < kReadBytes) break;
    } else if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      break;
    } else {
      call_.fail(kUnavailable,
                 size == 0 ? call_.end_text() : std::string("connection lost: ") + std::strerror(errno));
    }
  }
  return call_.closed() || call_.delivered() != before;
}

void Connection::shut_down() {
  if (!socket_) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  socket_.reset();
}

}  // namespace jitc::transport
