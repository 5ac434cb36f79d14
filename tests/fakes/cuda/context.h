// Contexts and streams of the fake driver: real FIFO queues, each with a thread of its own.
// Promises: work of one stream runs in order; work on the legacy default stream waits for earlier work of all
// blocking streams and they for it; after a sticky error nothing more runs. One mutex guards all of it
// (Driver::mutex); bodies of work run without it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "abi.h"
#include "memory.h"
#include "pace.h"

namespace jitc::fakes {

class Context;
class Capture;
using ContextPointer = std::shared_ptr<Context>;

/// A point in a stream's work, reached when everything before it is done.
struct Marker {
  bool reached = false;
  TimePoint when = {};  // by the device's clock
};
using MarkerPointer = std::shared_ptr<Marker>;
using Body = std::function<void()>;
/// What a piece of work costs; asked when everything before it is done, by a device with a pace only.
using Price = std::function<Cost()>;

struct Work {
  const char* what;
  uint64_t call;
  std::vector<MarkerPointer> after;
  Body body;
  MarkerPointer marker;
  Price price = {};                    // empty: it only orders
  TimePoint submitted = {}, end = {};  // where the device has a pace
  bool counts = false;                 // its real time does
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Context& context, uint64_t handle, unsigned flags, int priority)
      : handle(handle), flags(flags), priority(priority), context_(context) {}
  bool blocking() const { return !(flags & 1) && !legacy; }
  MarkerPointer push(Work work);
  const Context& context() const { return context_; }
  bool idle() const { return !last || last->reached; }

  const uint64_t handle;
  const unsigned flags;
  const int priority;
  bool legacy = false;
  bool closed = false;
  MarkerPointer last;
  std::shared_ptr<Capture> capture;

 private:
  void serve(ContextPointer context);
  bool take(Work& work);
  bool wait_for(Work& work);
  void run(Work& work);
  void book(Work& work);
  TimePoint ended(const Work& work) const;

  Context& context_;
  std::deque<Work> queue_;
  std::condition_variable pushed_;
  bool served_ = false;
  TimePoint last_end_ = {};
  friend class Context;
};
using StreamPointer = std::shared_ptr<Stream>;

inline constexpr int kStackLimit = 0, kHeapLimit = 2;  // CUlimit

class Context : public std::enable_shared_from_this<Context> {
 public:
  explicit Context(int ordinal);

  // With Driver::mutex held:
  Stream& stream(CUstream handle);
  CUstream create_stream(unsigned flags, int priority);
  void destroy_stream(CUstream handle);
  /// Queues work on the stream, or adds it to the stream's capture (then the marker is null).
  MarkerPointer submit(Stream& stream, const char* what, Body body, Price price = {});
  /// The stream's next work also waits for the marker, which may be another stream's.
  void submit_after(Stream& stream, const char* what, const MarkerPointer& marker);
  /// What a wait for the stream waits for; of the legacy default stream also the blocking streams' work.
  std::vector<MarkerPointer> pending(const Stream& stream) const;
  /// Every stream's last point so far.
  std::vector<MarkerPointer> tails() const;
  void fail(int code);
  /// Nothing more runs; waits until no thread of its streams works, host functions excepted.
  void end(std::unique_lock<std::mutex>& lock);
  /// Waits until the points are reached. Throws the sticky error.
  void wait(std::unique_lock<std::mutex>& lock, const MarkerPointer& marker);
  void wait_all(std::unique_lock<std::mutex>& lock, const std::vector<MarkerPointer>& markers);
  /// Of a call behind which a real driver may wait for all work of the context: with JITC_FAKE_WAITS it does.
  void wait_if_asked();

  bool over() const { return ended || sticky; }

  const int ordinal;
  int sticky = 0;
  bool ended = false;
  int running = 0;  // bodies of work under way, host functions excepted
  /// By CUlimit, with the driver's defaults; the third one is not supported any more.
  std::map<int, size_t> limits = {{0, 1024}, {1, 1 << 20}, {2, 8 << 20}, {4, 2048}, {5, 64}, {6, 0}};
  bool heap_used = false;  // by a kernel: its size is fixed
  const Pace* const pace = Pace::asked_for();
  Engines engines;

 private:
  std::vector<MarkerPointer> legacy_order(const Stream& stream) const;

  StreamPointer legacy_;
  std::map<std::thread::id, StreamPointer> per_thread_;
  std::map<uint64_t, StreamPointer> streams_;
};

struct Event {
  ContextPointer context;
  unsigned flags;
  bool recorded = false;
  MarkerPointer marker;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> captured_after;
};

/// What the process has of the driver.
struct Driver {
  static Driver& instance();
  uint64_t new_handle() { return next_handle += 16; }
  Event& event(CUevent handle);

  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  uint64_t next_handle = 0x7fa300000000;
  std::vector<int> devices;  // physical index by ordinal
  struct Primary {
    ContextPointer context;
    int retained = 0;
    unsigned flags = 0;
  };
  std::map<int, Primary> primary;
  std::map<uint64_t, ContextPointer> contexts;
  std::map<uint64_t, Event> events;
};

template <class Handle>
uint64_t number_of(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}
template <class Handle>
Handle handle_of(uint64_t number) {
  return reinterpret_cast<Handle>(number);
}

/// A host function runs on this thread: the driver may not be called.
extern thread_local bool in_host_function;

}  // namespace jitc::fakes
