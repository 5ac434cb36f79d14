// State of a session's life, and the lock that its parts wait with.
//
// Life: fenced (a rebuilt session starts so) <-> running -> faulted -> fenced; any -> over (given up). Only
// running executes ops; faulted waits for a fence. Promises: `mutex` guards what is marked as guarded;
// `changed` is notified whenever the state, the dispatcher's parking, the room in the journal or the
// boundaries change. Called by: all parts of a session.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"

namespace jitc {

/// A condition variable, and beside it a notification without a lock: a device sends it while it holds locks
/// of its own, which are taken under Lifecycle::mutex too.
class Changes {
 public:
  void notify_all() {
    condition_.notify_all();
    tell();
  }
  void wait(std::unique_lock<std::mutex>& lock, auto&& done) { condition_.wait(lock, done); }
  auto wait_for(std::unique_lock<std::mutex>& lock, auto&&... how) {
    return condition_.wait_for(lock, how...);
  }

  uint32_t told() const { return told_; }
  void tell() {
    ++told_;
    told_.notify_all();
  }
  /// Returns once there was a notification since told() was `before`.
  void await(uint32_t before) const { told_.wait(before); }

 private:
  std::condition_variable condition_;
  std::atomic<uint32_t> told_{0};
};

struct Lifecycle {
  enum class State { running, fenced, faulted, over };
  using Lock = std::unique_lock<std::mutex>;

  Lifecycle(State first, uint64_t epoch) : state(first), epoch(epoch) {}

  bool goes_on() const {
    const Lock lock(mutex);
    return runs() && !stop;
  }
  bool runs() const { return state.load(std::memory_order_acquire) == State::running; }
  static const char* name_of(State state);
  /// Requires a fenced session and mutex. Throws Error.
  void require_fenced(const char* what) const;
  /// Begins a command; refuses one that comes after a newer recovery has fenced the session. Requires mutex.
  void begin_command(uint64_t of_epoch);
  bool outdated(uint64_t of_epoch) const { return of_epoch && *newest_epoch > of_epoch; }
  /// Returns the same while the session continues. Any thread may call it if mutex is held on its behalf.
  bool is_overtaken(uint64_t of_epoch) const { return outdated(of_epoch) && state != State::over; }
  void stop_if_outdated(uint64_t of_epoch) const;
  /// Makes the dispatcher wait until done() returns true; changed.tell() has done() checked again; `waits` is
  /// true meanwhile. Returns false if the session stops first.
  template <class Done>
  bool wait(std::atomic<bool>& waits, Done&& done) {
    waits = true;
    uint32_t before = changed.told();
    for (; goes_on() && !done(); before = changed.told()) changed.await(before);
    waits = false;
    return goes_on();
  }
  /// Wakes the dispatcher if it waits for work. Takes no lock unless it does.
  void wake_dispatcher();
  /// Notifies of changes made without the lock.
  void notify();

  mutable std::mutex mutex;
  Changes changed;
  std::condition_variable work;  // for the dispatcher

  // Fields changed with mutex held.
  std::atomic<State> state;
  std::atomic<bool> accepting{false};  // results and progress of the back end count
  std::atomic<bool> asleep{false};     // the dispatcher waits for work
  std::atomic<uint64_t> epoch;
  bool parked = false;                     // the dispatcher touches nothing
  bool lent = false;                       // the stream's reader dispatches
  bool stop = false;                       // the session ends
  bool drain = false;                      // the dispatcher is to wait for the ops submitted to the back end
  bool restored = true;                    // memory and cursor fit together: Resume may continue
  std::atomic<uint64_t> command_epoch{0};  // of the recovery whose call holds mutex, 0: it did not say
  uint32_t over_status = 0;
  std::string over_message;

  /// Epoch of the newest fence: calls of an earlier recovery that are in flight are of no use any more.
  /// Shared: a transfer thread that outlives the device may still read it.
  const std::shared_ptr<std::atomic<uint64_t>> newest_epoch = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace jitc
