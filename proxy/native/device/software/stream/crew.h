// Threads that run the streams of one device: a bounded number for any number of streams.
//
// A stream has a thread only while one of its tasks runs. A stream whose next task has to wait for another
// stream is put aside without one, so that waiting streams never hold all threads. Collectives wait for other
// ranks: while one runs there may be one thread more.
// Promises: each ready stream runs, the longest waiting first; a stream is on one thread at a time.
// Called by: streams and Device, from any thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace jitc::software {

class Crew {
 public:
  /// Source of tasks.
  class Work {
   public:
    virtual ~Work() = default;
    /// Runs tasks until there are none, or until the next one cannot start yet.
    virtual void run() = 0;
    /// Returns whether the next task can start; any thread.
    virtual bool can_start() const = 0;
  };
  using WorkPointer = std::shared_ptr<Work>;

  /// Starts one thread, so that there always is one. Throws std::system_error.
  Crew();
  /// Requires that nothing is ready, aside or running any more.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void ready(WorkPointer work);
  /// Puts aside work that cannot start, until it can. Called from its run(), which then returns at once.
  void put_aside(WorkPointer work);
  /// Notes a change that work may have been waiting for.
  void changed() {
    if (waiting_.load() != 0) look();
  }

  /// Absence of the calling thread of the crew, which waits for other processes meanwhile.
  class Absence {
   public:
    explicit Absence(Crew& crew) : crew_(crew) { crew_.leave(); }
    ~Absence() { crew_.come_back(); }
    Absence(const Absence&) = delete;
    Absence& operator=(const Absence&) = delete;

   private:
    Crew& crew_;
  };

 private:
  struct Member {
    WorkPointer work;  // to be run by it
    std::condition_variable wake;
    bool dismissed = false;
  };
  void look();
  void leave();
  void come_back();
  // Requires mutex_.
  void assign(WorkPointer work);
  bool hire(WorkPointer work);
  size_t most() const;
  void loop(std::unique_ptr<Member> self);

  std::mutex mutex_;
  std::deque<WorkPointer> ready_;  // without a thread
  std::vector<Member*> resting_;   // the latest is woken first: its memory is warm
  size_t members_ = 0, absent_ = 0;
  bool closing_ = false;
  std::condition_variable left_;  // members_
  std::mutex waiting_mutex_;
  std::vector<WorkPointer> aside_;
  std::atomic<size_t> waiting_{0};  // size of aside_
};

}  // namespace jitc::software
