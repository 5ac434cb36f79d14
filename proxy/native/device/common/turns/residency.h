// Whether a session's memory is on its GPU, and the turns at it that sessions take which do not fit there
// together (decision 67). Sessions that fit pay two additions for each use.
//
// Promises: during a use the memory is on the GPU; between uses it may be moved out as a whole, and is moved
// in again by the next one; a use waits for the turn, and for nothing else. Which session has the turn is
// settled between processes by GpuTurn. Its thread gives the GPU up: when another session wants it and there
// has been no use for as long as moving takes, or the turn has lasted several times that. Lock rule: mutex_;
// Movable is called with it held. Called by: the devices, from any thread, without their memory's lock.
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

/// The memory that comes and goes.
class Movable {
 public:
  virtual ~Movable() = default;
  /// All of it to memory of the node, and the GPU's is given back. False: the node has none; nothing has
  /// changed.
  virtual bool move_out() = 0;
  /// Back to where it was. False: the GPU has not that much now; nothing has changed.
  virtual bool move_in() = 0;
  /// That it has on the GPU, or would have there.
  virtual uint64_t bytes() const = 0;
  /// Whether it could have so many more beside all others as they are now; if it were alone there.
  virtual bool has_room_for(uint64_t more) const = 0;
  virtual bool could_have(uint64_t more) const = 0;
  /// It is there beside others: memory of the node is needed no more for now.
  virtual void came_beside() {}
};

class Residency {
 public:
  struct Options {
    std::shared_ptr<GpuTurn> turn;   // none: the memory stays where it is
    double hang_seconds = 0;         // that a fenced session waits for its turn at most; 0: no limit
    std::function<bool()> outdated;  // nobody wants any more what a fenced session is doing
    /// Whether work is under way beyond the uses; not asked for during a use that lets go of no lock.
    std::function<bool()> busy = [] { return false; };
    /// The turn is over, and that work does not end.
    std::function<void()> stuck = [] {};
  };
  Residency(Movable& memory, const RunState& state, Options options);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  class Outside;
  /// Of the calling thread; one inside another is part of it. Throws Abandoned when a fence or fault comes
  /// first, OpError when the turn cannot come.
  class Use {
   public:
    explicit Use(Residency& of);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// Others are to make room for so many bytes more. True: now there is. False: they cannot, or need not.
    /// Throws as the constructor.
    bool make_room(uint64_t more);
    /// Of the calling thread; null: it has none.
    static Use* current();

   private:
    friend class Residency::Outside;
    void begin();
    void end();
    Residency& of_;
    Use* const before_;
    bool counts_ = false;
  };
  /// While the calling thread waits for something else than the device: its use, if it has one, is none.
  class Outside {
   public:
    Outside();
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;
    /// Others may have the GPU at once. The device is at rest.
    void give_way();
    /// Throws as Use. Without it the use has ended.
    void back();

   private:
    Use* const use_;
  };

  /// Sessions here take turns: what waits for other ranks is better off without the GPU.
  bool takes_turns() const {
    return takes_turns_.load(std::memory_order_relaxed) || (options_.turn && options_.turn->is_crowded());
  }
  /// They will.
  void expect_turns() const {
    if (options_.turn) options_.turn->crowd();
  }
  /// Whether sessions may come to take turns here.
  bool shares() const { return options_.turn && options_.turn->has_guests(); }
  /// Of the oldest work: what waits for the turn waits for others, and gets on as long as turns are taken.
  void add_turns_to(UnderWay& work) const;

  /// Uses that wait for the turn are given up, until reset().
  void give_up();
  void reset() { given_up_.store(false); }

  TurnsTaken taken() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Place { out, beside, alone };
  static constexpr uint64_t kBegun = uint64_t{1} << 32;  // in uses_, above those under way

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
  std::atomic<bool> open_{true};  // uses begin without asking
  std::atomic<bool> takes_turns_{false}, given_up_{false}, out_{false};
  std::atomic<uint32_t> waiting_{0}, outside_{0};
  std::atomic<uint64_t> moves_{0}, moved_bytes_{0};
  std::atomic<Clock::rep> move_time_{0};
  mutable std::mutex mutex_;  // what follows
  Place place_ = Place::beside;
  bool closing_ = false;  // no use begins: the memory is to be moved out
  bool crowded_ = false;  // others have to leave before it can have what it wants
  bool stop_ = false;
  Clock::time_point closing_since_{};
  Clock::time_point entered_{}, idle_since_{};
  uint64_t begun_ = 0;            // uses, at the last look
  Clock::duration move_takes_{};  // the last one, one way
  std::thread thread_;
};

}  // namespace jitc::device
