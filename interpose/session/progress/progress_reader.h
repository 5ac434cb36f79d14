// The client's side of the progress page (jitc/progress_page.h): what a session can know without a message.
//
// Called by: session_client.cpp. Promises: reading takes no lock; a session whose memory cannot be seen from
// here, or that has none, has no page, and nothing of this is used; a sleep ends soon after the time,
// whatever becomes of the worker.
#pragma once
#include <chrono>
#include <cstdint>

#include "jitc/progress_page.h"
#include "session/session.h"

namespace jitc::session {

class ProgressReader {
 public:
  ProgressReader() = default;
  ProgressReader(const ProgressReader&) = delete;
  ProgressReader& operator=(const ProgressReader&) = delete;

  /// Once, before the session is used. Stays mapped as long as the process lives.
  void open(const PinnedRegion& region);
  bool is_open() const { return page_ != nullptr; }

  /// Sequence up to which the stream has executed everything; 0: the page does not say.
  uint64_t executed(uint64_t stream) const;

  /// One thread that waits for a stream, from before its last look until it has what it waits for.
  class Sleeper {
   public:
    Sleeper(ProgressReader& reader, uint64_t stream);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    /// To be taken before a look; sleep() returns at once when the stream has come further since.
    uint32_t version() const { return place_.version.load(); }
    void sleep(uint32_t version, std::chrono::microseconds longest) const;

   private:
    ProgressPage& page_;
    ProgressPage::Place& place_;
  };
  /// Lets those who sleep for the stream look again: they know of it by other means.
  void wake(uint64_t stream);
  void wake_all();

 private:
  ProgressPage* page_ = nullptr;
};

}  // namespace jitc::session
