// See watched_pages.h. There is one table per process, since a signal has one handler; a slot belongs to the
// object that took it until that object returns it.
#include "watched_pages.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <mutex>

namespace jitc::software {
namespace {
/// Limit of ranges; each takes up to two mappings of the process (pages.cpp has the rest of them).
constexpr uint32_t kMost = 4096;

enum class State : uint32_t { free, taken, unwritten, written };

struct Slot {
  std::atomic<State> state{State::free};
  std::atomic<uint64_t> from{0}, to{0};
};

constinit std::array<Slot, kMost> slots;
constinit std::atomic<uint32_t> slots_used{0};  // none behind these was ever taken
constinit std::mutex taking;
constinit uint32_t first_free = 0;  // none before it is free; guarded by `taking`
struct sigaction before;

bool protect(uint64_t from, uint64_t to, int access) {
  return mprotect(reinterpret_cast<void*>(from), to - from, access) == 0;
}

/// Returns whether the write may be retried. Several threads may call this at once for one range.
bool caught(uint64_t address) {
  const uint32_t used = slots_used.load();
  for (uint32_t i = 0; i < used; ++i) {
    Slot& slot = slots[i];
    const State state = slot.state.load();
    if (state != State::unwritten && state != State::written) continue;
    const uint64_t from = slot.from.load(), to = slot.to.load();
    if (address < from || address >= to) continue;
    if (!protect(from, to, PROT_READ | PROT_WRITE)) return false;
    slot.state.store(State::written);
    return true;
  }
  return false;
}

void hand_on(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;  // the instruction is retried, and ends the process
  sigaction(SIGSEGV, &plain, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code != SEGV_ACCERR || !caught(reinterpret_cast<uint64_t>(info->si_addr)))
    hand_on(signal, info, context);
  errno = error;
}

bool install() {
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  return sigaction(SIGSEGV, nullptr, &before) == 0 && sigaction(SIGSEGV, &ours, nullptr) == 0;
}

/// Takes a slot; kMost: there is none.
uint32_t take_slot() {
  const std::lock_guard lock(taking);
  static const bool installed = install();
  if (!installed) return kMost;
  while (first_free < kMost && slots[first_free].state.load() != State::free) ++first_free;
  if (first_free == kMost) return kMost;
  slots[first_free].state.store(State::taken);
  if (first_free >= slots_used.load()) slots_used.store(first_free + 1);
  return first_free++;
}

void give_slot(uint32_t number) {
  const std::lock_guard lock(taking);
  slots[number].state.store(State::free);
  first_free = std::min(first_free, number);
}
}  // namespace

WatchedPages::~WatchedPages() {
  for (const auto& [address, range] : ranges_) end(address, range);
}

bool WatchedPages::watch(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  end_all_in(address, bytes);
  const uint32_t number = take_slot();
  if (number == kMost) return false;
  Slot& slot = slots[number];
  slot.from = address;
  slot.to = address + bytes;
  slot.state = State::unwritten;
  if (!protect(address, address + bytes, PROT_READ)) {
    protect(address, address + bytes, PROT_READ | PROT_WRITE);
    give_slot(number);
    return false;
  }
  ranges_[address] = {bytes, number};
  return true;
}

bool WatchedPages::unwritten(uint64_t address, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(address);
  return found != ranges_.end() && found->second.bytes == bytes &&
         slots[found->second.slot].state.load() == State::unwritten;
}

void WatchedPages::end_in(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  end_all_in(address, bytes);
}

void WatchedPages::end_all_in(uint64_t address, uint64_t bytes) {
  auto next = ranges_.lower_bound(address);
  if (next != ranges_.begin()) {
    const auto one = std::prev(next);
    if (one->first + one->second.bytes > address) next = one;
  }
  while (next != ranges_.end() && next->first < address + bytes) {
    end(next->first, next->second);
    next = ranges_.erase(next);
  }
}

void WatchedPages::end(uint64_t address, const Range& range) {
  if (slots[range.slot].state.load() == State::unwritten)
    protect(address, address + range.bytes, PROT_READ | PROT_WRITE);
  give_slot(range.slot);
}

}  // namespace jitc::software
