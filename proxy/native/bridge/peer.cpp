// See peer.h.
#include "peer.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace jitc::bridge {
using device::FrameReader;
using device::Malformed;
using device::PayloadReader;
using Sent = SegmentMirror::Sent;

// -- links -----------------------------------------------------------------------------------------------

void Peer::link(uint64_t link, uint32_t ranks, std::shared_ptr<SegmentMirror> mirror) {
  const std::lock_guard lock(mutex_);
  const auto early = early_.find(link);
  if (early != early_.end() && early->second != ranks)
    throw Error("the nodes do not agree on the ranks of a communicator: " + std::to_string(ranks) + " and " +
                std::to_string(early->second));
  links_.insert_or_assign(link, Link{std::move(mirror), ranks, early != early_.end()});
  if (early != early_.end()) early_.erase(early);
  notices_.push_back({FrameKind::linked, link, ranks});
}

void Peer::unlink(uint64_t link) {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second.over = true;
  if (found->second.open && links_.size() <= kMostLinks) return;
  links_.erase(found);
  retract(link);
}

/// Lets the peer forget the link. Requires mutex_.
void Peer::retract(uint64_t link) {
  const bool unsent = std::erase_if(notices_, [&](const Notice& one) { return one.link == link; }) != 0;
  if (!unsent) notices_.push_back({FrameKind::unlinked, link, 0});
}

bool Peer::idle() {
  const std::lock_guard lock(mutex_);
  return links_.empty() && early_.empty() && notices_.empty() && board_sender.idle() && board_receiver.idle();
}

std::vector<std::shared_ptr<SegmentMirror>> Peer::cut() {
  const std::scoped_lock quiet(sending_, receiving_);
  board_sender.forget();
  board_receiver.ask_again();
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<SegmentMirror>> mirrors;
  for (const auto& [number, link] : links_)
    if (!link.over) mirrors.push_back(link.mirror);
  links_.clear();
  early_.clear();
  notices_.clear();
  return mirrors;
}

// -- sending -------------------------------------------------------------------------------------------

size_t Peer::collect(std::span<std::byte> room) {
  const std::lock_guard lock(sending_);
  FrameWriter out(room, sent);
  if (!board_receiver.send_request(out) || !send_notices(out)) return out.size();
  Open links = open_links();
  for (auto& [number, link] : links) link.mirror->look(number_);
  const bool shown = board_sender.send(out);
  send_links(links, shown, out);
  drop_emptied(links);
  return out.size();
}

bool Peer::send_notices(FrameWriter& out) {
  const std::lock_guard lock(mutex_);
  for (; !notices_.empty(); notices_.pop_front()) {
    const Notice& one = notices_.front();
    const bool linked = one.kind == FrameKind::linked;
    if (!out.begin(one.kind, one.link, linked ? 4 : 0)) return false;
    if (linked) out.put32(one.ranks);
  }
  return true;
}

/// Returns the links that are open, beginning with the one whose turn it is.
Peer::Open Peer::open_links() {
  const std::lock_guard lock(mutex_);
  Open found;
  for (const auto& one : links_)
    if (one.second.open) found.push_back(one);
  const auto first = std::ranges::lower_bound(found, turn_, {}, &Open::value_type::first);
  std::ranges::rotate(found, first);
  return found;
}

/// Sends a frame of each link in turn until none has another one, or the buffer is full.
void Peer::send_links(Open& links, bool shown, FrameWriter& out) {
  std::vector<Open::value_type*> rest;
  for (auto& one : links) rest.push_back(&one);
  while (!rest.empty()) {
    for (auto*& one : rest) {
      const Sent sent = one->second.mirror->send(number_, out, shown);
      if (sent == Sent::frame) continue;
      turn_ = one->first;
      if (sent == Sent::no_room) return;
      one->second.emptied = shown;
      one = nullptr;
    }
    std::erase(rest, nullptr);
  }
}

void Peer::drop_emptied(const Open& links) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, link] : links)
    if (link.over && link.emptied && links_.erase(number) != 0) retract(number);
}

// -- receiving -----------------------------------------------------------------------------------------

bool Peer::apply(std::span<const std::byte> bytes) {
  const std::lock_guard lock(receiving_);
  FrameReader frames(bytes);
  bool news = false;
  while (const auto frame = frames.next()) {
    received.add(frame->kind, frame->payload.size());
    news = take(*frame) || news;
  }
  return news;
}

/// Takes a frame. Returns whether it asks for something.
bool Peer::take(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::linked:
      return take_linked(frame.subject, PayloadReader(frame.payload)), true;
    case FrameKind::unlinked:
      return take_unlinked(frame.subject, PayloadReader(frame.payload)), false;
    case FrameKind::wanted:
      return take_wanted(PayloadReader(frame.payload)), true;
    case FrameKind::names:
    case FrameKind::history:
    case FrameKind::counters:
      return take_of_board(frame), false;
    default:
      return take_of_link(frame), false;
  }
}

void Peer::take_linked(uint64_t link, PayloadReader payload) {
  const uint32_t ranks = payload.word32();
  payload.end();
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(link);
  if (found != links_.end() && found->second.ranks != ranks)
    throw Malformed("the nodes do not agree on the ranks of a communicator: " +
                    std::to_string(found->second.ranks) + " and " + std::to_string(ranks));
  if (found != links_.end()) {
    found->second.open = true;
    return;
  }
  early_[link] = ranks;
  if (early_.size() > kMostLinks) throw Malformed("the other node has linked too many communicators");
}

void Peer::take_unlinked(uint64_t link, const PayloadReader& payload) {
  payload.end();
  const std::lock_guard lock(mutex_);
  early_.erase(link);
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  found->second.open = false;
  if (!found->second.over) return;
  links_.erase(found);
  retract(link);
}

void Peer::take_wanted(PayloadReader payload) {
  std::map<uint64_t, uint64_t> requests;
  while (payload.left() != 0) {
    const uint64_t session = payload.word64();
    requests[session] = payload.word64();
    if (requests.size() > JobBoard::kSlots) throw Malformed("the other node asks for too many sessions");
  }
  board_sender.want(requests);
}

void Peer::take_of_board(const Frame& frame) {
  if (!board_receiver.receive(frame))
    ++dropped;
  else if (frame.kind == FrameKind::counters)  // the last of those that belong together
    board_.wake();
}

void Peer::take_of_link(const Frame& frame) {
  std::shared_ptr<SegmentMirror> mirror;
  {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(frame.subject);
    if (found != links_.end() && !found->second.over) {
      if (!found->second.open) throw Malformed("a frame belongs to a link that its sender has not made");
      mirror = found->second.mirror;
    }
  }
  if (mirror)
    mirror->receive(number_, frame);
  else
    ++dropped;
}

}  // namespace jitc::bridge
