// See mirror.h. This part: what is sent.
#include "mirror.h"

#include <algorithm>
#include <string>

namespace jitc::software {
namespace {
using device::FrameKind;

constexpr size_t kPartHead = 16, kLettersHead = 16, kRoundBytes = 72;
/// Least bytes of a part that begins before the buffer is full.
constexpr size_t kLeastPart = 4096;
/// Places that are looked at per rank here, beside two for each rank there.
constexpr size_t kOwnPlaces = 3;

/// Returns the bytes that the next part may have; 0: wait for another buffer.
size_t part_of(uint64_t bytes, size_t head, const FrameWriter& out) {
  const size_t room = out.left() - std::min(out.left(), head);
  return room < std::min<uint64_t>(bytes, kLeastPart) ? 0 : std::min<uint64_t>(bytes, room);
}

}  // namespace

Mirror::Mirror(const device::MirroredSegment& segment)
    : SegmentMirror(segment), segment_(segment.ranks, segment.here.front()) {
  std::string error;
  if (!segment_.map(segment.path, segment.bytes, error)) throw Error(error);
  for (const auto& [peer, ranks] : peers()) {
    Side& side = sides_[peer];
    side.come.resize(here().size());
    side.sent.resize(here().size());
    side.received.resize(ranks.size());
    side.letters = std::vector<Letters>(here().size() * ranks.size());
  }
}

Mirror::Letters& Mirror::letters(uint32_t peer, size_t mine, size_t theirs) {
  return sides_.at(peer).letters[mine * there(peer).size() + theirs];
}

void Mirror::ring_here() const {
  for (const uint32_t rank : here()) ring(rank);
}

void Mirror::look_at_ranks(uint32_t peer) {
  Side& side = sides_.at(peer);
  for (size_t mine = 0; mine < here().size(); ++mine)
    side.come[mine].seen = segment_.area(here()[mine]).joined.load() != 0;
}

/// Looks at one place after the other, beginning after the one that was sent last: each gets its turn.
device::SegmentMirror::Sent Mirror::send_of_ranks(uint32_t peer, FrameWriter& out, bool shown) {
  Side& side = sides_.at(peer);
  const size_t places = here().size() * (kOwnPlaces + 2 * there(peer).size());
  for (size_t looked = 0; looked < places; ++looked) {
    const Sent sent = send_from(peer, side.at, out, shown);
    if (sent == Sent::no_room) return sent;
    side.at = (side.at + 1) % places;
    if (sent == Sent::frame) return sent;
  }
  return Sent::nothing;
}

device::SegmentMirror::Sent Mirror::send_from(uint32_t peer, size_t place, FrameWriter& out, bool shown) {
  Side& side = sides_.at(peer);
  const size_t each = kOwnPlaces + 2 * there(peer).size(), mine = place / each, what = place % each;
  if (what == 0) return shown ? send_joined(side, mine, out) : Sent::nothing;
  if (what < kOwnPlaces) return send_round(side, mine, static_cast<Turn>(what - 1), out);
  const size_t theirs = (what - kOwnPlaces) / 2;
  const uint32_t rank = here()[mine], other = there(peer)[theirs];
  Letters& both = letters(peer, mine, theirs);
  return what % 2 == kOwnPlaces % 2 ? send_letters(both, rank, other, out)
                                    : send_read(both, other, rank, out);
}

device::SegmentMirror::Sent Mirror::send_joined(Side& side, size_t mine, FrameWriter& out) {
  Come& come = side.come[mine];
  if (!come.seen || come.sent) return Sent::nothing;
  if (!out.begin(FrameKind::joined, link(), 4)) return Sent::no_room;
  out.put32(here()[mine]);
  come.sent = true;
  return Sent::frame;
}

device::SegmentMirror::Sent Mirror::send_round(Side& side, size_t mine, Turn turn, FrameWriter& out) {
  const uint32_t rank = here()[mine];
  const RankArea& area = segment_.area(rank);
  RoundsDone& done = side.sent[mine];
  const uint64_t published = area.rounds[turn].load(), round = done.rounds[turn];
  if (published == round) return Sent::nothing;
  const Descriptor said = area.descriptors[turn][round % 2];
  const bool has_box = turn == kCollectives;
  const uint64_t boxed = has_box ? done.box : 0;
  if (published < round || published - round > 2 || said.used > (has_box ? Segment::kBox : 0) ||
      boxed > said.used)
    return cut_for_disorder(), Sent::nothing;
  if (boxed < said.used) return send_box(rank, done, said, out);
  if (!out.begin(FrameKind::round, link(), kRoundBytes)) return Sent::no_room;
  for (const uint32_t word : {rank, static_cast<uint32_t>(turn)}) out.put32(word);
  out.put64(round);
  for (const uint32_t word : {said.kind, said.dtype, said.reduction, static_cast<uint32_t>(said.root)})
    out.put32(word);
  for (const uint64_t word : {said.count, said.step}) out.put64(word);
  for (const int32_t word : {said.color, said.key}) out.put32(static_cast<uint32_t>(word));
  for (const uint64_t word : {said.sequence, said.used}) out.put64(word);
  ++done.rounds[turn];
  if (has_box) done.box = 0;
  return Sent::frame;
}

device::SegmentMirror::Sent Mirror::send_box(uint32_t rank, RoundsDone& done, const Descriptor& round,
                                             FrameWriter& out) {
  const size_t part = part_of(round.used - done.box, kPartHead, out);
  if (part == 0 || !out.begin(FrameKind::box, link(), kPartHead + part)) return Sent::no_room;
  const uint64_t number = done.rounds[kCollectives];
  out.put32(rank);
  out.put32(static_cast<uint32_t>(done.box));
  out.put64(number);
  out.put({segment_.box(rank, number) + done.box, part});
  done.box += part;
  return Sent::frame;
}

device::SegmentMirror::Sent Mirror::send_letters(Letters& letters, uint32_t from, uint32_t to,
                                                 FrameWriter& out) {
  Mailbox& mailbox = segment_.mailbox(from, to);
  const uint64_t written = mailbox.written.load(), sent = letters.sent, size = segment_.mailbox_size();
  if (written == sent) return Sent::nothing;
  if (written < sent || written - letters.acknowledged > size) return cut_for_disorder(), Sent::nothing;
  const size_t part = part_of(written - sent, kLettersHead, out);
  if (part == 0 || !out.begin(FrameKind::letters, link(), kLettersHead + part)) return Sent::no_room;
  for (const uint32_t word : {from, to}) out.put32(word);
  out.put64(sent);
  const std::byte* const ring = segment_.letters(mailbox);
  const size_t straight = std::min<uint64_t>(part, size - sent % size);
  out.put({ring + sent % size, straight});
  out.put({ring, part - straight});
  letters.sent = sent + part;
  return Sent::frame;
}

device::SegmentMirror::Sent Mirror::send_read(Letters& letters, uint32_t from, uint32_t to,
                                              FrameWriter& out) {
  const uint64_t read = segment_.mailbox(from, to).read.load();
  if (read == letters.reported) return Sent::nothing;
  if (read < letters.reported || read > letters.received) return cut_for_disorder(), Sent::nothing;
  if (!out.begin(FrameKind::read, link(), 16)) return Sent::no_room;
  for (const uint32_t word : {from, to}) out.put32(word);
  out.put64(read);
  letters.reported = read;
  return Sent::frame;
}

}  // namespace jitc::software
