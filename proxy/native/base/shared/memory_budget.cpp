// See memory_budget.h.
//
// Processes share no lock, because its holder may be stopped or killed. A session first adds the bytes to its
// own slot, then checks whether the sum is within the limit, and takes them back if it is not. Two sessions
// that want the last bytes at once may both take theirs back; then each tries again, as long as there is
// room.
#include "memory_budget.h"

#include <algorithm>

#include "node_board.h"

namespace jitc {
namespace {
bool fits(uint64_t used, uint64_t bytes, uint64_t limit) { return bytes <= limit && used <= limit - bytes; }
}  // namespace

BoardBudget::BoardBudget(const NodeBoard& board, uint32_t slot, uint32_t gpu, bool resumes)
    : board_(board), slot_(board.slot(slot)), mark_(gpu + 1) {
  // On another GPU than before nothing is kept for the session: it must fit beside the other programs.
  if (resumes && slot_.gpu.load() == mark_) reserved_ = slot_.memory.load();
  publish();
  slot_.gpu.store(mark_);
}

void BoardBudget::publish() {
  if (!left_) slot_.memory.store(std::max(held_, reserved_));
}

uint64_t BoardBudget::used() const {
  uint64_t sum = 0;
  for (uint32_t index = 0; index < NodeBoard::kSlots; ++index) {
    const NodeSlot& one = board_.slot(index);
    if (one.gpu.load() == mark_) sum += one.memory.load();
  }
  return sum;
}

bool BoardBudget::take(uint64_t bytes, uint64_t limit) {
  const std::lock_guard lock(mutex_);
  const uint64_t before = std::max(held_, reserved_), wanted = held_ + bytes;
  if (wanted < bytes) return false;
  if (wanted <= before) return held_ = wanted, true;
  while (fits(used(), wanted - before, limit)) {
    held_ = wanted;
    publish();
    if (used() <= limit) return true;
    held_ = wanted - bytes;
    publish();
  }
  return false;
}

void BoardBudget::give(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  held_ -= bytes;
  publish();
}

void BoardBudget::vacate(uint64_t) {
  const std::lock_guard lock(mutex_);
  held_ = reserved_ = 0;
  publish();
}

void BoardBudget::reserve() {
  const std::lock_guard lock(mutex_);
  reserved_ = std::max(held_, reserved_);
}

void BoardBudget::end_reservation() {
  const std::lock_guard lock(mutex_);
  reserved_ = 0;
  publish();
}

void BoardBudget::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
}

// -- copies --------------------------------------------------------------------------------------------

CopiesBudget::CopiesBudget(const NodeBoard& board, uint32_t slot, uint64_t limit, uint64_t held)
    : board_(board), slot_(board.slot(slot)), limit_(limit), held_(held) {
  publish();
}

void CopiesBudget::publish() {
  if (!left_) slot_.copies.store(held_);
}

uint64_t CopiesBudget::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

uint64_t CopiesBudget::used() const {
  uint64_t sum = 0;
  for (uint32_t index = 0; index < NodeBoard::kSlots; ++index) sum += board_.slot(index).copies.load();
  return sum;
}

bool CopiesBudget::take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!bytes) return true;
  while (fits(used(), bytes, limit_)) {
    held_ += bytes;
    publish();
    if (used() <= limit_) return true;
    held_ -= bytes;
    publish();
  }
  return false;
}

void CopiesBudget::give(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  held_ -= bytes;
  publish();
}

void CopiesBudget::leave() {
  const std::lock_guard lock(mutex_);
  left_ = true;
}

}  // namespace jitc
