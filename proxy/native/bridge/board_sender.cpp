// See board_sender.h.
#include "board_sender.h"

#include <algorithm>
#include <span>
#include <utility>

namespace jitc::bridge {
namespace {
using device::FrameKind;

constexpr size_t kHistoryHead = 24;
/// Least words of a part that begins before the buffer is full.
constexpr size_t kLeastWords = 512;

std::span<const std::byte> bytes_of(std::span<const uint64_t> words) { return std::as_bytes(words); }
}  // namespace

void BoardSender::show(const std::map<uint64_t, uint32_t>& slots) {
  const std::lock_guard lock(mutex_);
  for (auto& [session, one] : sessions_)
    if (!slots.contains(session)) one = {{}, one.request, {}, {}, 0, false};
  for (const auto& [session, slot] : slots) {
    Session& one = sessions_[session];
    if (one.slot != slot) one = {slot, one.request, {}, {}, 0, false};
  }
  drop_unknown();
}

void BoardSender::want(const std::map<uint64_t, uint64_t>& requests) {
  const std::lock_guard lock(mutex_);
  for (auto& [session, one] : sessions_)
    if (!requests.contains(session)) one = {one.slot, {}, {}, {}, 0, false};
  for (const auto& [session, request] : requests) {
    Session& one = sessions_[session];
    if (one.request != request) one = {one.slot, request, {}, {}, 0, false};
  }
  drop_unknown();
}

void BoardSender::forget() { want({}); }

bool BoardSender::idle() {
  const std::lock_guard lock(mutex_);
  return sessions_.empty();
}

/// Drops sessions that are neither shown nor asked for. Requires mutex_.
void BoardSender::drop_unknown() {
  std::erase_if(sessions_, [](const auto& entry) { return !entry.second.slot && !entry.second.request; });
}

bool BoardSender::send(FrameWriter& out) {
  const std::lock_guard lock(mutex_);
  bool all = true;
  for (auto& [session, one] : sessions_)
    if (one.slot && one.request) all = send(session, one, out) && all;
  return all;
}

/// Finishes what was begun earlier, and sends what has changed since.
bool BoardSender::send(uint64_t session, Session& one, FrameWriter& out) {
  if (one.going && !finish(session, one, out)) return false;
  Content now;
  const Found found = read(session, *one.slot, one.sent, now);
  if (found != Found::content) return found == Found::gone;
  if (one.sent && one.sent->epoch == now.epoch && one.sent->counters == now.counters &&
      one.sent->history.revision == now.history.revision && one.sent->names == now.names)
    return true;
  one.going = std::move(now);
  return finish(session, one, out);
}

/// Sends the rest of the content. Readers look at counters first: these come last.
bool BoardSender::finish(uint64_t session, Session& one, FrameWriter& out) const {
  if (!send_names(session, one, out) || !send_history(session, one, out) || !send_counters(session, one, out))
    return false;
  one.sent = std::exchange(one.going, std::nullopt);
  one.sent->history.words = {};
  one.words = 0;
  one.names_sent = false;
  return true;
}

bool BoardSender::send_names(uint64_t session, Session& one, FrameWriter& out) const {
  const Content& content = *one.going;
  const bool known = one.sent && one.sent->epoch == content.epoch && one.sent->names == content.names;
  if (known || one.names_sent) return true;
  if (!out.begin(FrameKind::names, session, 8 * (2 + content.names.size()))) return false;
  out.put64(*one.request);
  out.put64(content.epoch);
  out.put(bytes_of(content.names));
  return one.names_sent = true;
}

bool BoardSender::send_history(uint64_t session, Session& one, FrameWriter& out) const {
  const Content& content = *one.going;
  const std::span<const uint64_t> words(content.history.words);
  if (one.sent && one.sent->epoch == content.epoch && one.sent->history.revision == content.history.revision)
    return true;
  for (bool first = one.words == 0; first || one.words < words.size(); first = false) {
    const size_t rest = words.size() - one.words;
    const size_t room = (out.left() - std::min(out.left(), kHistoryHead)) / 8;
    if (room < std::min(rest, kLeastWords)) return false;
    const auto part = words.subspan(one.words, std::min(rest, room));
    if (!out.begin(FrameKind::history, session, kHistoryHead + 8 * part.size())) return false;
    out.put64(*one.request);
    out.put64(content.epoch);
    out.put32(static_cast<uint32_t>(words.size()));
    out.put32(static_cast<uint32_t>(one.words));
    out.put(bytes_of(part));
    one.words += part.size();
  }
  return true;
}

bool BoardSender::send_counters(uint64_t session, const Session& one, FrameWriter& out) const {
  const Content& content = *one.going;
  const JobCounters& counters = content.counters;
  if (!out.begin(FrameKind::counters, session, 7 * 8)) return false;
  for (const uint64_t word : {*one.request, content.epoch, counters.prepared, counters.reached,
                              counters.begun, counters.unskippable, counters.alone})
    out.put64(word);
  return true;
}

/// Reads a slot in the opposite order of its writer, so that no part is newer than one that belongs to it.
BoardSender::Found BoardSender::read(uint64_t session, uint32_t index, const std::optional<Content>& known,
                                     Content& content) const {
  const JobSlot& slot = board_.slot(index);
  if (slot.session.load() != session) return Found::gone;
  content.epoch = slot.epoch.load();
  content.counters = {.prepared = slot.prepared.load(),
                      .reached = slot.reached.load(),
                      .begun = slot.begun.load(),
                      .unskippable = slot.unskippable.load(),
                      .alone = slot.alone.load()};
  content.history.revision = board_.revision(index);
  if (!known || known->epoch != content.epoch || known->history.revision != content.history.revision) {
    auto history = board_.shown(index);
    if (!history) return Found::unreadable;
    content.history = std::move(*history);
  }
  content.names = board_.names(index);
  if (slot.session.load() != session) return Found::gone;
  return slot.epoch.load() == content.epoch ? Found::content : Found::unreadable;
}

}  // namespace jitc::bridge
