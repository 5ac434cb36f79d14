#include "waker.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace jitc::transport {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

Descriptor required(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return Descriptor(descriptor);
}

void drain(const Descriptor& descriptor) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(descriptor.get(), &count, sizeof count);
}

}  // namespace

Waker::Waker()
    : doorbell_(required(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      timer_(required(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd")) {}

void Waker::now() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
}

void Waker::after(uint64_t nanoseconds) {
  if (armed_.exchange(true)) return;
  const itimerspec time{
      {0, 0}, {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)}};
  ::timerfd_settime(timer_.get(), 0, &time, nullptr);
}

void Waker::take_doorbell() { drain(doorbell_); }

void Waker::take_timer() {
  drain(timer_);
  armed_ = false;
}

}  // namespace jitc::transport
