// See board_receiver.h.
#include "board_receiver.h"

#include <algorithm>
#include <utility>

namespace jitc::bridge {
namespace {
using device::FrameKind;
using device::Malformed;
using device::PayloadReader;

std::vector<uint64_t> words_of(PayloadReader& payload) {
  if (payload.left() % 8 != 0) throw Malformed("a frame of words has a part of one");
  std::vector<uint64_t> words(payload.left() / 8);
  for (uint64_t& word : words) word = payload.word64();
  return words;
}

void raise(std::atomic<uint64_t>& counter, uint64_t value) {
  if (counter.load() < value) counter.store(value);
}
}  // namespace

void BoardReceiver::expect(const std::map<uint64_t, Place>& places) {
  const std::lock_guard lock(mutex_);
  for (const auto& [session, place] : places) {
    Session& one = sessions_[session];
    if (one.request != 0 && one.place == place) continue;
    const bool same_slot = one.request != 0 && one.place.slot == place.slot;
    one = {place, ++requests_, same_slot ? std::move(one.names) : std::vector<uint64_t>(), {}, 0};
    due_ = true;
  }
  due_ |= std::erase_if(sessions_, [&](const auto& entry) { return !places.contains(entry.first); }) != 0;
}

void BoardReceiver::ask_again() {
  const std::lock_guard lock(mutex_);
  for (auto& [session, one] : sessions_) one.request = ++requests_;
  due_ = !sessions_.empty();
}

bool BoardReceiver::idle() {
  const std::lock_guard lock(mutex_);
  return sessions_.empty() && !due_;
}

bool BoardReceiver::send_request(FrameWriter& out) {
  const std::lock_guard lock(mutex_);
  if (!due_) return true;
  if (!out.begin(FrameKind::wanted, 0, 16 * sessions_.size())) return false;
  for (const auto& [session, one] : sessions_) {
    out.put64(session);
    out.put64(one.request);
  }
  due_ = false;
  return true;
}

bool BoardReceiver::receive(const Frame& frame) {
  PayloadReader payload(frame.payload);
  const uint64_t request = payload.word64(), epoch = payload.word64();
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(frame.subject);
  if (found == sessions_.end() || found->second.request != request || !enter_epoch(found->second, epoch))
    return false;
  Session& one = found->second;
  if (frame.kind == FrameKind::names)
    take_names(one, payload);
  else if (frame.kind == FrameKind::history)
    take_history(one, epoch, payload);
  else
    take_counters(one, payload);
  return true;
}

/// Returns whether frames of the epoch count; a newer one than the slot's begins with nothing.
bool BoardReceiver::enter_epoch(const Session& one, uint64_t epoch) const {
  const JobSlot& slot = board_.slot(one.place.slot);
  if (epoch < one.place.epoch || slot.session.load() == 0 || epoch < slot.epoch.load()) return false;
  if (epoch > slot.epoch.load()) board_.begin_epoch(one.place.slot, epoch, {});
  return true;
}

/// Takes all names that the peer shows. Those that the service has entered, and that the peer has not shown
/// yet, stay.
void BoardReceiver::take_names(Session& one, PayloadReader payload) const {
  std::vector<uint64_t> names = words_of(payload);
  if (names.size() > std::tuple_size_v<JobNames>) throw Malformed("a session has too many communicators");
  std::ranges::sort(names);
  for (const uint64_t name : names)
    if (name != 0) board_.join(one.place.slot, name);
  for (const uint64_t name : one.names)
    if (!std::ranges::binary_search(names, name)) board_.part(one.place.slot, name);
  one.names = std::move(names);
}

void BoardReceiver::take_history(Session& one, uint64_t epoch, PayloadReader payload) const {
  const uint32_t all = payload.word32(), first = payload.word32();
  const std::vector<uint64_t> part = words_of(payload);
  if (first == 0) {
    one.history.clear();
    one.history_epoch = epoch;
  }
  if (all > JobHistory::kWords || first != one.history.size() || part.size() > all - first ||
      epoch != one.history_epoch)
    throw Malformed("a part of a history is out of order, or too large");
  one.history.insert(one.history.end(), part.begin(), part.end());
  if (one.history.size() < all) return;
  board_.show_words(one.place.slot, one.history);
  one.history = {};
}

/// Writes the counters after those that readers look at first say nothing new.
void BoardReceiver::take_counters(const Session& one, PayloadReader payload) const {
  JobCounters counters;
  for (uint64_t* const word :
       {&counters.prepared, &counters.reached, &counters.begun, &counters.unskippable, &counters.alone})
    *word = payload.word64();
  payload.end();
  JobSlot& slot = board_.slot(one.place.slot);
  slot.unskippable.store(counters.unskippable);
  slot.alone.store(counters.alone);
  raise(slot.reached, counters.reached);
  raise(slot.begun, counters.begun);
  raise(slot.prepared, counters.prepared);
}

}  // namespace jitc::bridge
