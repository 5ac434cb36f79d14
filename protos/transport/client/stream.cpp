#include "stream.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

namespace jitc::transport {
namespace {

using std::chrono::milliseconds;

// Interval of ten checks that the background thread makes after a burst, before it asks to be woken. So ops
// of a program that issues work gather into one message per check, and no caller pays for a wake-up.
constexpr timespec kLook{0, 100'000};
constexpr int kLooks = 10;
constexpr size_t kQueueLimit = size_t{4} << 20;
constexpr size_t kStackBytes = size_t{256} << 10;
constexpr Clock::time_point kNever = Clock::time_point::max();

timespec time_left(Clock::time_point deadline) {
  const auto left = std::max(Clock::duration::zero(), deadline - Clock::now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {seconds.count(), std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
}

void require(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Stream::Stream(Descriptor socket, Request request, const jitc_stream_callbacks& callbacks)
    : ping_after_(callbacks.ping_after_ms != 0 ? callbacks.ping_after_ms : 10'000),
      dead_after_(callbacks.dead_after_ms != 0 ? callbacks.dead_after_ms : 60'000),
      poller_(::epoll_create1(EPOLL_CLOEXEC)),
      doorbell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      connection_(std::move(socket), std::move(request), callbacks) {
  require(poller_ && doorbell_, "epoll");
  epoll_event event{EPOLLIN, {.fd = doorbell_.get()}};
  require(::epoll_ctl(poller_.get(), EPOLL_CTL_ADD, doorbell_.get(), &event) == 0, "epoll");
  start_thread();  // it sends the request
}

Stream::~Stream() {
  {
    Lock lock(io_);
    ending_ = true;
    connection_.call().cancel();
    connection_.pump_out();
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
  if (has_thread_) pthread_join(thread_, nullptr);
}

// ---- the background thread ----------------------------------------------------------------------

void Stream::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  // Signals are for the program's own threads: the new thread inherits a full mask.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  int error = pthread_create(&thread_, &attributes, thread_main, this);
  // The thread-local data of a big program's libraries may not fit on a small stack.
  if (error == EINVAL) error = pthread_create(&thread_, nullptr, thread_main, this);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) throw std::system_error(error, std::generic_category(), "no thread for the connection");
  has_thread_ = true;
}

void* Stream::thread_main(void* self) {
  pthread_setname_np(pthread_self(), "jitc-io");
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // kLook means 100 us, not 150
  static_cast<Stream*>(self)->background();
  return nullptr;
}

void Stream::background() {
  bool readable = false;
  int looks = 0;
  while (true) {
    asleep_.store(false, std::memory_order_seq_cst);
    Turn turn = background_turn(readable);
    if (turn == Turn::sent) looks = kLooks;
    if (turn != Turn::over && looks > 0) {
      --looks;
      readable = background_sleep(&kLook);
      continue;
    }
    // From here producers ring the doorbell. The turn after the store finds earlier messages.
    asleep_.store(true, std::memory_order_seq_cst);
    turn = background_turn(false);
    if (turn == Turn::over) return;
    if (turn == Turn::quiet) readable = background_sleep(nullptr);
  }
}

Stream::Turn Stream::background_turn(bool readable) {
  Lock lock(io_);
  bool sent = connection_.pump_out();
  if (readable && !somebody_waits()) {
    connection_.pump_in();
    sent |= connection_.pump_out();
  }
  watch_socket();
  if (ending_ || connection_.call().closed()) return Turn::over;
  return sent ? Turn::sent : Turn::quiet;
}

/// Sleeps until the socket is ready (returns true), the doorbell rings or the time is over.
bool Stream::background_sleep(const timespec* limit) {
  pollfd poller{poller_.get(), POLLIN, 0};
  if (::ppoll(&poller, 1, limit, nullptr) <= 0) return false;
  epoll_event events[2];
  bool ready = false;
  for (int count = ::epoll_wait(poller_.get(), events, 2, 0); count-- > 0;) {
    uint64_t rings = 0;
    if (events[count].data.fd != doorbell_.get())
      ready = true;
    else [[maybe_unused]]
      const ssize_t taken = ::read(doorbell_.get(), &rings, sizeof rings);
  }
  return ready;
}

void Stream::wake() {
  if (!asleep_.exchange(false, std::memory_order_seq_cst)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
}

/// Sets what ends the sleep of the background thread. While a caller waits, that caller reads the socket
/// itself (no wake-up, no race for the bytes); room to write counts only when there are bytes to send.
void Stream::watch_socket() {
  uint32_t wanted = 0;
  const bool over = ending_ || connection_.call().closed();
  if (!over && !somebody_waits()) wanted |= EPOLLIN;
  if (!over && connection_.blocked()) wanted |= EPOLLOUT;
  if (wanted == watched_) return;
  epoll_event event{wanted, {.fd = connection_.fd()}};
  // If nothing is wanted, the socket must leave the set: epoll reports hang-ups of everything in it.
  const int change = wanted == 0 ? EPOLL_CTL_DEL : watched_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  ::epoll_ctl(poller_.get(), change, connection_.fd(), &event);
  watched_ = wanted;
}

// ---- callers ------------------------------------------------------------------------------------

int Stream::send(const jitc_bytes* parts, size_t count) {
  std::vector<uint8_t> message;
  for (size_t i = 0; i < count; ++i)
    message.insert(message.end(), parts[i].data, parts[i].data + parts[i].size);
  Lock lock(io_);
  if (connection_.call().closed()) return connection_.call().status();
  connection_.call().queue(std::move(message));
  connection_.pump_out();
  const auto has_room = [](void* self) {
    return static_cast<int>(static_cast<Stream*>(self)->connection_.call().queued() <= kQueueLimit);
  };
  if (has_room(this)) return watch_socket(), kOk;
  return wait_locked(lock, has_room, this, kNever) == 1 ? kOk : connection_.call().status();
}

int Stream::wait(Done done, void* context, int timeout_ms) {
  Lock lock(io_);
  connection_.pump_out();
  if (timeout_ms == 0) {
    if (!somebody_waits() && connection_.pump_in()) connection_.pump_out();
    watch_socket();
    return done(context) ? 1 : connection_.call().closed() ? -1 : 0;
  }
  return wait_locked(lock, done, context, timeout_ms < 0 ? kNever : Clock::now() + milliseconds(timeout_ms));
}

int Stream::wait_locked(Lock& lock, Done done, void* context, Clock::time_point deadline) {
  int result = 0;
  while (true) {
    result = done(context) ? 1 : connection_.call().closed() ? -1 : 0;
    if (result != 0 || (deadline != kNever && Clock::now() >= deadline)) break;
    if (!leader_) {
      lead(lock, done, context, deadline);
      continue;
    }
    ++followers_;
    if (deadline == kNever)
      changed_.wait(lock);
    else
      changed_.wait_until(lock, deadline);
    --followers_;
  }
  if (followers_ > 0 && !leader_) changed_.notify_all();  // one of them takes over
  watch_socket();
  return result;
}

/// Drives the I/O until this caller is done, the call is over or the time has passed.
void Stream::lead(Lock& lock, Done done, void* context, Clock::time_point deadline) {
  leader_ = true;
  watch_socket();
  const Clock::time_point since = Clock::now();
  while (true) {
    pollfd socket{connection_.fd(), static_cast<short>(POLLIN | (connection_.blocked() ? POLLOUT : 0)), 0};
    const timespec left = time_left(std::min(deadline, silence_limit(since)));
    lock.unlock();
    const int ready = ::ppoll(&socket, 1, &left, nullptr);
    lock.lock();
    if (ready > 0) {
      if (connection_.pump_in() && followers_ > 0) changed_.notify_all();
    } else if (ready == 0) {
      check_silence(since);
    }
    connection_.pump_out();
    if (done(context) || connection_.call().closed()) break;
    if (deadline != kNever && Clock::now() >= deadline) break;
  }
  leader_ = false;
}

/// Returns when the leader has to check whether the server is still alive: some time after the last sign of
/// life, and some time after an unanswered PING.
Clock::time_point Stream::silence_limit(Clock::time_point led_since) const {
  const Clock::time_point heard = connection_.last_heard();
  if (pinged_ > heard) return pinged_ + (dead_after_ - ping_after_);
  return std::max(heard, led_since) + ping_after_;
}

void Stream::check_silence(Clock::time_point led_since) {
  if (Clock::now() < silence_limit(led_since)) return;
  if (pinged_ > connection_.last_heard()) {
    connection_.call().fail(kUnavailable, "the server does not answer");
    return;
  }
  pinged_ = Clock::now();
  connection_.call().ping();
}

}  // namespace jitc::transport
