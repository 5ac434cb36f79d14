#include "process.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace jitc::session {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

std::atomic<bool> is_child{false};
// One more than the descriptor; 0: none.
std::array<std::atomic<int>, 64> parents_only{};

/// Marks the child without locks or memory: another thread may have held either at the fork.
void mark_child() {
  is_child.store(true, std::memory_order_relaxed);
  for (std::atomic<int>& one : parents_only)
    if (const int held = one.exchange(0)) ::close(held - 1);
}

/// Replaces the first `before` by `after`.
void exchange(int before, int after) {
  for (std::atomic<int>& one : parents_only) {
    int expected = before;
    if (one.compare_exchange_strong(expected, after)) return;
  }
}

int create(pthread_t* thread, size_t stack, void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack != 0) pthread_attr_setstacksize(&attributes, stack);
  const int error = pthread_create(thread, &attributes, body, argument);
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace

void watch_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, mark_child);
  (void)once;
}

bool forked() { return is_child.load(std::memory_order_relaxed); }

void close_in_children(int fd) { exchange(0, fd + 1); }

void keep_in_children(int fd) { exchange(fd + 1, 0); }

bool start_thread(const char* name, void* (*body)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  pthread_t thread{};
  int error = create(&thread, kStackBytes, body, argument);
  // Thread-local data of a big program may not fit on a small stack.
  if (error == EINVAL) error = create(&thread, 0, body, argument);
  if (error == 0) pthread_setname_np(thread, name);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0;
}

}  // namespace jitc::session
