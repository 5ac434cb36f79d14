// See residency.h.
#include "residency.h"

#include <pthread.h>

#include <algorithm>
#include <optional>

#include "device/common/error.h"
#include "device/common/patience.h"

namespace jitc::device {
namespace {
using std::chrono::duration_cast;
using std::chrono::microseconds;
// A session gives way after no use for as long as moving its memory takes (while waiting for others: for a
// share of that), or after a turn of so many times that; within bounds.
constexpr int kTurnMoves = 8, kAwaitsShare = 8;
constexpr microseconds kLeastIdle{1'000}, kMostIdle{200'000}, kLeastTurn{250'000}, kMostTurn{10'000'000};
constexpr microseconds kLook{50'000}, kSeldom{1'000'000};
/// Time after which a session that cannot give way may be able to.
constexpr double kBlockedSeconds = 3;
/// Time after the turn from which unfinished work counts as waiting for something that cannot come.
constexpr std::chrono::seconds kStuck{2};

thread_local Residency::Use* of_this_thread = nullptr;
}  // namespace

// -- uses ----------------------------------------------------------------------------------------------

Residency::Use::Use(Residency& of) : of_(of), before_(of_this_thread) {
  begin();
  of_this_thread = this;
}

Residency::Use::~Use() {
  end();
  of_this_thread = before_;
}

void Residency::Use::begin() {
  if (!of_.options_.turn || (before_ && &before_->of_ == &of_ && before_->counts_)) return;
  of_.uses_.fetch_add(kBegun + 1);
  if (!of_.open_.load()) {
    of_.uses_.fetch_sub(1);
    of_.acquire(0);
  }
  counts_ = true;
}

void Residency::Use::end() {
  if (counts_) of_.uses_.fetch_sub(1);
  counts_ = false;
}

bool Residency::Use::make_room(uint64_t more) {
  if (!of_.shares() || !of_.memory_.could_have(more) || of_.memory_.has_room_for(more)) return false;
  end();
  of_.acquire(more);
  return counts_ = true;
}

Residency::Use* Residency::Use::current() { return of_this_thread; }

Residency::Outside::Outside() : use_(of_this_thread) {
  if (!use_) return;
  use_->end();
  use_->of_.outside_.fetch_add(1);
}

Residency::Outside::~Outside() {
  if (use_) use_->of_.outside_.fetch_sub(1);
}

void Residency::Outside::give_way() {
  if (!use_ || !use_->of_.options_.turn) return;
  Residency& of = use_->of_;
  const Lock lock(of.mutex_);
  if (of.place_ == Place::out || of.closing_) return;
  of.open_ = false;
  if (of.at_rest())
    of.leave();
  else
    of.open_ = true;
}

void Residency::Outside::back() {
  if (use_) use_->begin();
}

// -- coming in -----------------------------------------------------------------------------------------

Residency::Residency(Movable& memory, const RunState& state, Options options)
    : memory_(memory), state_(state), options_(std::move(options)) {
  if (!options_.turn) return;
  if (!options_.turn->beside()) {  // another session is alone there; this one has nothing to move
    memory_.move_out();
    place_ = Place::out;
    open_ = false;
    takes_turns_ = out_ = true;
  }
  thread_ = std::thread([this] { loop(); });
}

Residency::~Residency() {
  if (!options_.turn) return;
  {
    const Lock lock(mutex_);
    stop_ = true;
  }
  options_.turn->ring();
  thread_.join();
  options_.turn->leave();
}

void Residency::give_up() {
  given_up_.store(true);
  if (options_.turn) options_.turn->ring();
}

/// Begins a use with room for so much more. Throws Abandoned, OpError.
void Residency::acquire(uint64_t more) {
  struct Waits {
    explicit Waits(Residency& of) : of(of) { of.waiting_.fetch_add(1); }
    ~Waits() {
      if (of.waiting_.fetch_sub(1) == 1) of.options_.turn->want_no_more();
    }
    Residency& of;
  };
  const Waits waits(*this);
  Lock lock(mutex_);
  wait_for_turn(lock, more);
  uses_.fetch_add(kBegun + 1);
}

void Residency::wait_for_turn(Lock& lock, uint64_t more) {
  const GpuTurn& turn = *options_.turn;
  const Patience patience(options_.hang_seconds);
  std::optional<Patience> blocked;
  for (;;) {
    if (abandoned()) throw Abandoned{};
    const uint32_t seen = turn.doorbell();
    if (!closing_ && !is_there_with(more)) try_to_enter(more);
    if (!closing_ && is_there_with(more)) return;
    if (!turn.is_blocked())
      blocked.reset();
    else if (!blocked)
      blocked.emplace(kBlockedSeconds);
    else if (blocked->over())
      refuse(kMemoryAllocation, "out-of-memory",
             "sessions do not fit on the GPU together, and the node has no memory for what one of them would "
             "have "
             "to move out (jitc-proxyd --copies-limit)");
    if (state_.fenced() && patience.over())
      refuse(kMemoryAllocation, "out-of-memory", "the session's turn at the GPU did not come in time");
    lock.unlock();
    turn.wait(seen, kLook);
    lock.lock();
  }
}

bool Residency::is_there_with(uint64_t more) const {
  return place_ != Place::out && (!more || memory_.has_room_for(more));
}

void Residency::try_to_enter(uint64_t more) {
  const GpuTurn& turn = *options_.turn;
  crowded_ |= place_ != Place::out;
  if (crowded_) turn.crowd();
  turn.want(crowded_ ? GpuTurn::kAll : memory_.bytes() + more);
  if (place_ == Place::beside && turn.alone()) {
    place_ = Place::alone;
    takes_turns_ = true;
    crowded_ = false;
  }
  if (place_ != Place::out || !turn.is_next()) return;
  if (turn.beside()) {
    if (enter(Place::beside)) return memory_.came_beside();
    crowded_ = true;
  }
  if (turn.alone() && enter(Place::alone)) return;
  turn.leave();
}

bool Residency::enter(Place place) {
  const auto since = Clock::now();
  if (!memory_.move_in()) return false;
  place_ = place;
  crowded_ = out_ = false;
  entered_ = idle_since_ = Clock::now();
  move_takes_ = entered_ - since;
  move_time_ += move_takes_.count();
  takes_turns_ = place == Place::alone;
  open_ = true;
  options_.turn->ring();
  return true;
}

// -- giving way ----------------------------------------------------------------------------------------

void Residency::loop() {
  pthread_setname_np(pthread_self(), "jitc-turn");
  const GpuTurn& turn = *options_.turn;
  Lock lock(mutex_);
  while (!stop_) {
    const uint32_t seen = turn.doorbell();
    std::optional<microseconds> time;
    if (const auto other = place_ == Place::out ? std::nullopt : turn.waiting())
      time = give_way(*other);
    else
      time = go_on();
    const bool stuck = is_stuck();
    lock.unlock();
    if (stuck) options_.stuck();
    turn.wait(seen, time);
    lock.lock();
  }
}

/// No session is waiting. A session left alone on the GPU notices it by polling.
std::optional<microseconds> Residency::go_on() {
  if (place_ == Place::out) return std::nullopt;
  closing_ = false;
  open_ = true;
  if (place_ != Place::alone) return std::nullopt;
  if (!options_.turn->has_guests()) come_beside();
  return kSeldom;
}

void Residency::come_beside() {
  if (!options_.turn->beside()) return;
  place_ = Place::beside;
  takes_turns_ = false;
  memory_.came_beside();
  options_.turn->ring();
}

/// Gives way if that is due; returns how long only the doorbell needs attention.
microseconds Residency::give_way(const GpuTurn::Waiting& other) {
  if (memory_.could_have(other.bytes)) {  // it fits beside this one, or finds that there are more
    if (place_ == Place::alone) come_beside();
    return kLook;
  }
  const bool over = is_over();
  if (!over && !is_idle()) return look_after();
  open_ = false;
  if (at_rest()) {
    leave();
    return kLook;
  }
  if (over && !closing_) closing_since_ = Clock::now();
  closing_ = over;  // no other use begins until the present ones have ended
  open_ = !over;
  return look_after();
}

microseconds Residency::idle_time() const {
  const int share = outside_.load() ? kAwaitsShare : 1;
  return std::clamp(duration_cast<microseconds>(move_takes_ / share), kLeastIdle, kMostIdle);
}

microseconds Residency::look_after() const { return idle_time() / 4; }

bool Residency::is_idle() {
  const auto now = Clock::now();
  const uint64_t uses = uses_.load();
  if (uses / kBegun != begun_ || uses % kBegun != 0 || options_.busy())
    begun_ = uses / kBegun, idle_since_ = now;
  return now - idle_since_ >= idle_time();
}

bool Residency::is_over() const {
  return Clock::now() - entered_ >=
         std::clamp(duration_cast<microseconds>(move_takes_ * kTurnMoves), kLeastTurn, kMostTurn);
}

bool Residency::is_stuck() const { return closing_ && Clock::now() - closing_since_ > kStuck; }

/// Leaves the GPU. Requires that no use is in progress, and none begins.
void Residency::leave() {
  const auto since = Clock::now();
  const uint64_t bytes = memory_.bytes();
  const bool left = memory_.move_out();
  closing_ = false;
  open_ = !left;
  options_.turn->stay(!left);
  if (!left) return;
  place_ = Place::out;
  takes_turns_ = true;
  options_.turn->leave();
  out_ = true;
  move_takes_ = Clock::now() - since;
  move_time_ += move_takes_.count();
  moved_bytes_ += bytes;
  ++moves_;
  options_.turn->ring();
}

void Residency::add_turns_to(UnderWay& work) const {
  if (!takes_turns()) return;
  const bool waits = waiting_.load() != 0;
  if (options_.turn) work.part += options_.turn->doorbell();
  work.collective |= waits;
  work.entered |= waits;
}

TurnsTaken Residency::taken() const {
  return {moves_.load(), moved_bytes_.load(),
          std::chrono::duration<double>(Clock::duration(move_time_.load())).count(), out_.load()};
}

}  // namespace jitc::device
