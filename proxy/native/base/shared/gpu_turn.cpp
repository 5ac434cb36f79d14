// See gpu_turn.h.
#include "gpu_turn.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace jitc {
namespace {
constexpr uint64_t kNanoseconds = 1'000'000'000;
constexpr uint64_t kSilent = kNanoseconds;  // it has died while it wanted the turn

uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * kNanoseconds + static_cast<uint64_t>(time.tv_nsec);
}

bool waits(const NodeSlot& slot, uint64_t at) {
  return slot.wants_since.load() != 0 && slot.seen_waiting.load() + kSilent > at;
}
}  // namespace

GpuTurn::GpuTurn(const NodeBoard& board, const std::string& path, uint32_t slot, uint32_t gpu, bool guest)
    : board_(board),
      slot_(board.slot(slot)),
      doorbell_(board.turn_doorbell(gpu)),
      crowded_(board.crowded(gpu)),
      gpu_(gpu),
      file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  slot_.guest.store(guest);
  slot_.stays.store(0);
  slot_.wants_since.store(0);
  if (file_ < 0 || lock(F_UNLCK)) return;
  close(file_);
  file_ = -1;
}

GpuTurn::~GpuTurn() {
  if (file_ >= 0) close(file_);
  ring();
}

bool GpuTurn::lock(short kind) const {
  struct flock byte{};
  byte.l_type = kind;
  byte.l_whence = SEEK_SET;
  byte.l_start = gpu_;
  byte.l_len = 1;
  return fcntl(file_, F_OFD_SETLK, &byte) == 0;
}

bool GpuTurn::beside() const { return lock(F_RDLCK); }
bool GpuTurn::alone() const { return lock(F_WRLCK); }
void GpuTurn::leave() const { lock(F_UNLCK); }

std::vector<const NodeSlot*> GpuTurn::others() const {
  std::vector<const NodeSlot*> found;
  for (uint32_t index = 0; index < NodeBoard::kSlots; ++index) {
    const NodeSlot& one = board_.slot(index);
    if (&one != &slot_ && one.session.load() && one.gpu.load() == gpu_ + 1) found.push_back(&one);
  }
  return found;
}

bool GpuTurn::has_guests() const {
  const auto here = others();
  return !here.empty() && (slot_.guest.load() || std::ranges::any_of(here, [](const NodeSlot* one) {
                             return one->guest.load() != 0;
                           }));
}

bool GpuTurn::is_crowded() const {
  if (!crowded_.load(std::memory_order_relaxed)) return false;
  if (has_guests()) return true;
  crowded_.store(0);
  return false;
}

void GpuTurn::want(uint64_t bytes) const {
  if (left_) return;
  const uint64_t at = now();
  const bool all = slot_.wants_bytes.exchange(bytes) != bytes && bytes == kAll;
  slot_.seen_waiting.store(at);
  const bool first = slot_.wants_since.load() == 0;
  if (first) slot_.wants_since.store(at);
  if (first || all) ring();  // threads that want different sizes do not keep each other awake
}

std::optional<GpuTurn::Waiting> GpuTurn::waiting() const {
  const uint64_t at = now();
  std::optional<Waiting> first;
  for (const NodeSlot* const one : others()) {
    if (!waits(*one, at)) continue;
    const uint64_t since = one->wants_since.load();
    if (since && (!first || since < first->since)) first = {one->wants_bytes.load(), since};
  }
  return first;
}

bool GpuTurn::is_next() const {
  const auto first = waiting();
  const uint64_t own = slot_.wants_since.load();
  return !first || (own && own <= first->since);
}

void GpuTurn::stay(bool stays) const {
  if (!left_ && slot_.stays.exchange(stays) != static_cast<uint32_t>(stays)) ring();
}

bool GpuTurn::is_blocked() const {
  return std::ranges::any_of(others(), [](const NodeSlot* one) { return one->stays.load() != 0; });
}

void GpuTurn::ring() const {
  doorbell_.fetch_add(1);
  syscall(SYS_futex, &doorbell_, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void GpuTurn::wait(uint32_t seen, std::optional<std::chrono::microseconds> time) const {
  constexpr int64_t kPerSecond = 1'000'000;
  timespec limit{};
  if (time) limit = {time->count() / kPerSecond, time->count() % kPerSecond * 1000};
  syscall(SYS_futex, &doorbell_, FUTEX_WAIT, seen, time ? &limit : nullptr, nullptr, 0);
}

}  // namespace jitc
