// See bootstrap_mirror.h.
#include "bootstrap_mirror.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace jitc::cuda {
namespace {
using device::FrameKind;
using device::Malformed;
using device::PayloadReader;

constexpr int kTries = 100;  // a rank posts in a moment
}  // namespace

BootstrapMirror::BootstrapMirror(const device::MirroredSegment& segment)
    : SegmentMirror(segment), bootstrap_(segment.ranks, segment.here.front()) {
  std::string error;
  if (!bootstrap_.map(segment.path, segment.bytes, error)) throw Error(error);
  for (const auto& [peer, ranks] : peers()) {
    Side& side = sides_[peer];
    side.seen.resize(here().size());
    side.sent.resize(here().size());
  }
}

void BootstrapMirror::ring_here() const {
  for (const uint32_t rank : here()) ring(rank);
}

/// Returns the words of a rank between two of its posts; nothing if it posts all the time.
std::optional<BootstrapMirror::RankWords> BootstrapMirror::words_of(uint32_t rank) const {
  const NcclBootstrap::RankSlot& slot = bootstrap_.slot(rank);
  for (int left = kTries; left; --left) {
    const uint64_t token = slot.token.load(), round = slot.round.load();
    const RankWords words{token,
                          round,
                          slot.boxes[0].color_and_key.load(),
                          slot.boxes[0].sequence.load(),
                          slot.boxes[1].color_and_key.load(),
                          slot.boxes[1].sequence.load()};
    if (slot.round.load() == round) return words;
  }
  return std::nullopt;
}

void BootstrapMirror::look_at_ranks(uint32_t peer) {
  Side& side = sides_.at(peer);
  for (size_t mine = 0; mine < here().size(); ++mine)
    side.seen[mine] = words_of(here()[mine]).value_or(side.seen[mine]);
}

// -- sending -------------------------------------------------------------------------------------------

device::SegmentMirror::Sent BootstrapMirror::send_of_ranks(uint32_t peer, FrameWriter& out, bool shown) {
  Side& side = sides_.at(peer);
  Sent sent = shown ? send_words(side, out) : Sent::nothing;
  if (sent == Sent::nothing) sent = send_id(side, out);
  return sent == Sent::nothing ? send_request(side, out) : sent;
}

device::SegmentMirror::Sent BootstrapMirror::send_words(Side& side, FrameWriter& out) {
  for (size_t mine = 0; mine < here().size(); ++mine) {
    if (side.seen[mine] == side.sent[mine]) continue;
    if (!out.begin(FrameKind::arrival, link(), 4 + sizeof(RankWords))) return Sent::no_room;
    out.put32(here()[mine]);
    for (const uint64_t word : side.seen[mine]) out.put64(word);
    side.sent[mine] = side.seen[mine];
    return Sent::frame;
  }
  return Sent::nothing;
}

device::SegmentMirror::Sent BootstrapMirror::send_id(Side& side, FrameWriter& out) {
  Id id;
  if (std::ranges::count(here(), 0u) == 0 || !bootstrap_.shown(id.edition, id.id, id.tokens) ||
      id.edition == side.edition)
    return Sent::nothing;
  if (id.edition < side.edition) return cut_for_disorder(), Sent::nothing;
  if (!out.begin(FrameKind::unique_id, link(), 8 + sizeof id.id + 8 * id.tokens.size())) return Sent::no_room;
  out.put64(id.edition);
  out.put(std::as_bytes(std::span(&id.id, 1)));
  out.put(std::as_bytes(std::span(id.tokens)));
  side.edition = id.edition;
  return Sent::frame;
}

device::SegmentMirror::Sent BootstrapMirror::send_request(Side& side, FrameWriter& out) {
  if (side.requested || !bootstrap_.wanted()) return Sent::nothing;
  if (!out.begin(FrameKind::requested, link(), 0)) return Sent::no_room;
  side.requested = true;
  return Sent::frame;
}

// -- receiving -----------------------------------------------------------------------------------------

void BootstrapMirror::receive_of_rank(uint32_t peer, const Frame& frame) {
  PayloadReader payload(frame.payload);
  switch (frame.kind) {
    case FrameKind::arrival:
      receive_words(peer, payload);
      break;
    case FrameKind::unique_id:
      receive_id(peer, payload);
      break;
    case FrameKind::requested:
      payload.end();
      bootstrap_.head().wanted.store(1);
      break;
    default:
      throw Malformed("a frame does not belong to a segment of the cuda device");
  }
  show_id();
  ring_here();
}

void BootstrapMirror::receive_words(uint32_t peer, PayloadReader payload) {
  const uint32_t rank = payload.word32();
  place_there(peer, rank);
  RankWords words;
  for (uint64_t& word : words) word = payload.word64();
  payload.end();
  NcclBootstrap::RankSlot& slot = bootstrap_.slot(rank);
  for (size_t i = 0; i < 2; ++i) {
    slot.boxes[i].color_and_key.store(words[2 + 2 * i]);
    slot.boxes[i].sequence.store(words[3 + 2 * i]);
  }
  slot.round.store(words[1]);
  slot.token.store(words[0]);
}

void BootstrapMirror::receive_id(uint32_t peer, PayloadReader payload) {
  place_there(peer, 0);
  Id id;
  id.edition = payload.word64();
  std::memcpy(&id.id, payload.bytes(sizeof id.id).data(), sizeof id.id);
  id.tokens.resize(ranks());
  for (uint64_t& token : id.tokens) token = payload.word64();
  payload.end();
  if (id.edition == 0 || id.edition % 2 != 0 || id.edition <= bootstrap_.head().edition.load())
    throw Malformed("an id of NCCL's is out of order");
  const std::lock_guard lock(mutex_);
  next_ = std::move(id);
}

/// Shows the next id if all its recipients are known here by their tokens.
void BootstrapMirror::show_id() {
  const std::lock_guard lock(mutex_);
  if (!next_) return;
  for (uint32_t rank = 0; rank < ranks(); ++rank)
    if (bootstrap_.slot(rank).token.load() != next_->tokens[rank]) return;
  bootstrap_.show(next_->edition, next_->id, next_->tokens);
  next_.reset();
}

}  // namespace jitc::cuda
