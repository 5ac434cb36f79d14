// Client side of the progress page (jitc/progress_page.h): progress that a session learns without a message.
//
// Called by: session_client.cpp. Promises: reading takes no lock; a session whose memory is not visible here,
// or that has none, has no page, and nothing of this is used; a sleep ends soon after its time, even if the
// worker is lost.
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

  /// Opens the page once, before the session is used. It stays mapped as long as the process lives.
  void open(const PinnedRegion& region);
  bool is_open() const { return page_ != nullptr; }

  /// Returns the sequence up to which the stream has executed everything; 0: the page does not say.
  uint64_t executed(uint64_t stream) const;

  /// Thread that waits for a stream, from before its last look until the wait ends.
  class Sleeper {
   public:
    Sleeper(ProgressReader& reader, uint64_t stream);
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    /// Returns the version, to be read before a look; sleep() returns at once after progress since.
    uint32_t version() const { return place_.version.load(); }
    void sleep(uint32_t version, std::chrono::microseconds longest) const;

   private:
    ProgressPage& page_;
    ProgressPage::Place& place_;
  };
  /// Wakes the sleepers of a stream, whose progress was learnt by other means.
  void wake(uint64_t stream);
  void wake_all();

 private:
  ProgressPage* page_ = nullptr;
};

}  // namespace jitc::session
