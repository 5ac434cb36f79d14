// Residency of a session's memory on its GPU, and the turns that sessions take if they do not fit there
// together (decision 67). For sessions that fit, a use costs two additions.
//
// Promises: during a use the memory is on the GPU; between uses it may be moved out as a whole, and the next
// use moves it in again; a use waits only for the turn. GpuTurn decides between processes which session has
// the turn. Its thread gives up the GPU when another session wants it and there has been no use for as long
// as moving takes, or the turn has lasted several times that. Lock rule: mutex_; Movable is called with it
// held. Called by: the devices, from any thread, without their memory's lock.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/shared/gpu_turn.h"
#include "device/aspects.h"
#include "device/common/run_state.h"

namespace jitc::device {

/// Memory that can be moved off the GPU and back.
class Movable {
 public:
  virtual ~Movable() = default;
  /// Moves all of it to node memory and releases the GPU's. False: the node has none; nothing changed.
  virtual bool move_out() = 0;
  /// Moves it back to where it was. False: the GPU lacks the memory now; nothing changed.
  virtual bool move_in() = 0;
  /// Returns the bytes that it has on the GPU, or would have there.
  virtual uint64_t bytes() const = 0;
  /// Returns whether so many more bytes would fit: beside all others as they are now; if alone there.
  virtual bool has_room_for(uint64_t more) const = 0;
  virtual bool could_have(uint64_t more) const = 0;
  /// Called once the memory is back on the GPU beside others: its copy in node memory may be released.
  virtual void came_beside() {}
};

class Residency {
 public:
  struct Options {
    std::shared_ptr<GpuTurn> turn;   // none: the memory stays where it is
    double hang_seconds = 0;         // longest wait of a fenced session for its turn; 0: no limit
    std::function<bool()> outdated;  // the fenced session's command is obsolete
    /// Returns whether work is in flight beyond the uses; not called during a use that keeps its locks.
    std::function<bool()> busy = [] { return false; };
    /// Called when the turn is over and that work does not end.
    std::function<void()> stuck = [] {};
  };
  Residency(Movable& memory, const RunState& state, Options options);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  class Outside;
  /// Use of the memory by the calling thread; a nested one is part of the outer. Throws Abandoned if a fence
  /// or fault comes first, OpError if the turn cannot come.
  class Use {
   public:
    explicit Use(Residency& of);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// Asks others to make room for so many more bytes. True: there is room now. False: they cannot, or need
    /// not. Throws as the constructor.
    bool make_room(uint64_t more);
    /// Returns the calling thread's use; null: none.
    static Use* current();

   private:
    friend class Residency::Outside;
    void begin();
    void end();
    Residency& of_;
    Use* const before_;
    bool counts_ = false;
  };
  /// Suspends the calling thread's use, if any, while it waits for something else than the device.
  class Outside {
   public:
    Outside();
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;
    /// Lets others have the GPU at once. Requires an idle device.
    void give_way();
    /// Resumes the use; without this call it has ended. Throws as Use.
    void back();

   private:
    Use* const use_;
  };

  /// Returns whether sessions here take turns: a wait for other ranks should then not hold the GPU.
  bool takes_turns() const {
    return takes_turns_.load(std::memory_order_relaxed) || (options_.turn && options_.turn->is_crowded());
  }
  /// Announces that sessions on this GPU will have to take turns.
  void expect_turns() const {
    if (options_.turn) options_.turn->crowd();
  }
  /// Returns whether sessions may come to take turns here.
  bool shares() const { return options_.turn && options_.turn->has_guests(); }
  /// Adds the turns to the oldest work: a wait for the turn makes progress as long as turns are taken.
  void add_turns_to(UnderWay& work) const;

  /// Gives up uses that wait for the turn, until reset().
  void give_up();
  void reset() { given_up_.store(false); }

  TurnsTaken taken() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Place { out, beside, alone };
  static constexpr uint64_t kBegun = uint64_t{1} << 32;  // in uses_, above those in progress

  bool at_rest() const { return uses_.load() % kBegun == 0 && !options_.busy(); }
  bool abandoned() const { return given_up_.load() || (state_.fenced() && options_.outdated()); }
  void acquire(uint64_t more);
  void wait_for_turn(Lock& lock, uint64_t more);
  // With mutex_ held.
  bool is_there_with(uint64_t more) const;
  void try_to_enter(uint64_t more);
  bool enter(Place place);
  void leave();
  void come_beside();
  std::chrono::microseconds give_way(const GpuTurn::Waiting& other);
  std::optional<std::chrono::microseconds> go_on();
  bool is_idle();
  bool is_over() const;
  bool is_stuck() const;
  std::chrono::microseconds idle_time() const;
  std::chrono::microseconds look_after() const;
  void loop();

  Movable& memory_;
  const RunState& state_;
  const Options options_;
  std::atomic<uint64_t> uses_{0};
  std::atomic<bool> open_{true};  // uses begin without waiting
  std::atomic<bool> takes_turns_{false}, given_up_{false}, out_{false};
  std::atomic<uint32_t> waiting_{0}, outside_{0};
  std::atomic<uint64_t> moves_{0}, moved_bytes_{0};
  std::atomic<Clock::rep> move_time_{0};
  mutable std::mutex mutex_;  // guards what follows
  Place place_ = Place::beside;
  bool closing_ = false;  // no use begins: the memory is about to be moved out
  bool crowded_ = false;  // others must leave before its request fits
  bool stop_ = false;
  Clock::time_point closing_since_{};
  Clock::time_point entered_{}, idle_since_{};
  uint64_t begun_ = 0;            // uses, at the last look
  Clock::duration move_takes_{};  // duration of the last one, one way
  std::thread thread_;
};

}  // namespace jitc::device
