#include "server_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "call_handle.h"

namespace jitc::transport {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
}  // namespace

ServerConnection::ServerConnection(Descriptor socket, std::string method,
                                   const jitc_server_callbacks& callbacks, Waker& owner)
    : socket_(std::move(socket)),
      method_(std::move(method)),
      callbacks_(callbacks),
      owner_(owner),
      in_(std::make_unique_for_overwrite<uint8_t[]>(kReadBytes)),
      call_(next, this) {}

ServerConnection::~ServerConnection() { join(); }

void ServerConnection::start() {
  thread_ = std::thread([this] { serve(); });
}

void ServerConnection::shut_down() { ::shutdown(socket_.get(), SHUT_RDWR); }

void ServerConnection::turn_away() {
  broken_ = true;
  shut_down();
}

void ServerConnection::join() {
  if (thread_.joinable()) thread_.join();
}

// -- the thread ----------------------------------------------------------------------------------------

void ServerConnection::serve() {
  pthread_setname_np(pthread_self(), "jitc-ops");
  {
    const std::lock_guard lock(io_);
    pump_out();  // the greeting
  }
  // Bytes that have come in time count, also if this thread is late: it reads before it checks the clock.
  while (wait_for_work() && read_socket() && time_left() != 0) {
  }
  broken_ = true;
  if (user_ != nullptr) end_call();
  shut_down();
  finished_ = true;
  owner_.now();
}

/// Returns the time until a connection without a call is over, in milliseconds; -1: there is a call.
int ServerConnection::time_left() const {
  if (user_ != nullptr) return -1;
  const auto end = without_call_ + std::chrono::milliseconds(callbacks_.hello_ms);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

/// Waits for work. Returns false if nothing more can come.
bool ServerConnection::wait_for_work() {
  finish_turn();
  pollfd watched[] = {{socket_.get(), static_cast<short>(POLLIN | (blocked_ ? POLLOUT : 0)), 0},
                      {waker_.doorbell(), POLLIN, 0},
                      {waker_.timer(), POLLIN, 0}};
  if (::poll(watched, std::size(watched), time_left()) < 0 && errno != EINTR) return false;
  if (watched[1].revents) waker_.take_doorbell();
  if (watched[2].revents) {
    waker_.take_timer();
    wanted_ = true;
  }
  if (watched[0].revents & POLLOUT) wanted_ = true;
  return !broken_;
}

/// Sends and reports what is left, before the thread sleeps.
void ServerConnection::finish_turn() {
  bool ended = false;
  {
    const std::lock_guard lock(io_);
    ended = call_.take_ended();
  }
  if (ended && user_ != nullptr) end_call();
  send_wanted();
}

/// Reads the socket. Returns false at the end of the connection.
bool ServerConnection::read_socket() {
  const ssize_t size = ::recv(socket_.get(), in_.get(), kReadBytes, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  events_.clear();
  bool good = false;
  {
    const std::lock_guard lock(io_);
    good = call_.receive({in_.get(), static_cast<size_t>(size)}, events_);
    pump_out();
  }
  size_t read = 0;  // of messages
  for (const Event& event : events_) {
    carry_out(event);
    read += event.data.size();
  }
  if (read > 0) {
    const std::lock_guard lock(io_);
    held_.bytes += read;
    if (!held_.paused) call_.consume(std::exchange(held_.bytes, 0));
    pump_out();
  }
  send_wanted();
  return good;
}

void ServerConnection::carry_out(const Event& event) {
  switch (event.kind) {
    case Event::Kind::begun:
      return begin_call();
    case Event::Kind::data:
      return deliver(event.data);
    case Event::Kind::half_closed:
      if (user_ != nullptr) finish(current_, kOk, "");
      return;
    case Event::Kind::over:
      if (user_ != nullptr) end_call();
      return;
  }
}

void ServerConnection::begin_call() {
  if (user_ != nullptr) end_call();
  const Headers headers = call_.headers();  // changed by this thread only
  if (headers.method != method_) return refuse(kUnimplemented, "this server has no method " + headers.method);
  if (!headers.content_type.starts_with("application/grpc"))
    return refuse(kInternal, "the content-type is not application/grpc");
  std::vector<jitc_metadata> metadata;
  for (const auto& [key, value] : headers.metadata) metadata.push_back({key.c_str(), value.c_str()});
  assembler_ = {};
  jitc_ending ending{kInternal, ""};
  const uint64_t number = ++calls_;
  auto* const handle = new jitc_call{shared_from_this(), number};
  void* const user = callbacks_.begin(callbacks_.context, handle, metadata.data(), metadata.size(), &ending);
  if (user == nullptr) return refuse(ending.status, ending.text);
  user_ = user;
  const std::lock_guard lock(io_);
  held_ = {};
  current_ = number;
  call_.accept();
  pump_out();
}

void ServerConnection::refuse(int status, const std::string& text) {
  const std::lock_guard lock(io_);
  call_.finish(status, text);
  pump_out();
}

void ServerConnection::deliver(std::span<const uint8_t> bytes) {
  if (user_ == nullptr) return;  // of a call that was refused, or is over
  jitc_ending ending{kInternal, ""};
  bool taken = true;
  const bool whole = assembler_.feed(bytes.data(), bytes.size(), [&](const uint8_t* data, size_t size) {
    taken = taken && callbacks_.message(user_, data, size, &ending) != 0;
  });
  if (!taken) return finish(current_, ending.status, ending.text);
  if (!whole) finish(current_, kInternal, assembler_.error());
}

void ServerConnection::end_call() {
  {
    const std::lock_guard lock(io_);
    current_ = 0;
  }
  callbacks_.closed(std::exchange(user_, nullptr));
  without_call_ = Clock::now();
}

// -- sending, from any thread --------------------------------------------------------------------------

size_t ServerConnection::next(void* self, jitc_bytes* parts, size_t capacity) {
  ServerConnection& connection = *static_cast<ServerConnection*>(self);
  if (connection.current_ == 0) return 0;
  return connection.callbacks_.next(connection.user_, parts, capacity);
}

void ServerConnection::wake(uint64_t call) {
  if (current_ != call) return;
  wanted_ = true;
  send_wanted();
}

void ServerConnection::wake_after(uint64_t nanoseconds) {
  if (nanoseconds > 0) return waker_.after(nanoseconds);
  wanted_ = true;
  waker_.now();
}

/// Sends. A thread that finds the lock taken leaves the work to its holder, which checks after releasing it.
void ServerConnection::send_wanted() {
  while (wanted_.load(std::memory_order_seq_cst)) {
    const std::unique_lock lock(io_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    wanted_.store(false, std::memory_order_seq_cst);
    pump_out();
  }
}

void ServerConnection::pause(uint64_t call, bool paused) {
  {
    const std::lock_guard lock(io_);
    if (current_ != call) return;
    held_.paused = paused;
    if (paused) return;
    call_.consume(std::exchange(held_.bytes, 0));
    pump_out();
  }
  send_wanted();
}

void ServerConnection::finish(uint64_t call, int status, const std::string& text) {
  {
    const std::lock_guard lock(io_);
    if (current_ != call) return;
    call_.finish(status, text);
    pump_out();
  }
  send_wanted();
}

/// Sends as much as possible. Requires the lock.
void ServerConnection::pump_out() {
  while (!broken_) {
    if (!call_.produce(out_)) {
      flush();
      broken_ = true;
      waker_.now();
      return;
    }
    if (out_.size() == 0 || !flush()) break;
  }
  if (call_.ended()) waker_.now();  // the thread reports it to the callee
}

/// Flushes. Returns false if the socket takes no more: the thread continues with it.
bool ServerConnection::flush() {
  while (out_.size() > 0) {
    const ssize_t size = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) {
      out_.consume(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      if (!blocked_.exchange(true)) waker_.now();
      return false;
    } else if (errno != EINTR) {
      broken_ = true;  // the thread sees the end of the connection itself
      out_.consume(out_.size());
      return false;
    }
  }
  blocked_ = false;
  return true;
}

}  // namespace jitc::transport
