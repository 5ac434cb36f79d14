// See mirror.h. This part: what is received.
#include <algorithm>
#include <cstring>

#include "mirror.h"

namespace jitc::software {
using device::FrameKind;
using device::Malformed;
using device::PayloadReader;

void Mirror::receive_of_rank(uint32_t peer, const Frame& frame) {
  const PayloadReader payload(frame.payload);
  switch (frame.kind) {
    case FrameKind::joined:
      return receive_joined(peer, payload);
    case FrameKind::box:
      return receive_box(peer, payload);
    case FrameKind::round:
      return receive_round(peer, payload);
    case FrameKind::letters:
      return receive_letters(peer, payload);
    case FrameKind::read:
      return receive_read(peer, payload);
    default:
      throw Malformed("a frame does not belong to a segment of the software device");
  }
}

void Mirror::receive_joined(uint32_t peer, PayloadReader payload) {
  const uint32_t rank = payload.word32();
  place_there(peer, rank);
  payload.end();
  segment_.area(rank).joined.store(1);
  ring_here();
}

void Mirror::receive_box(uint32_t peer, PayloadReader payload) {
  const uint32_t rank = payload.word32(), offset = payload.word32();
  RoundsDone& done = sides_.at(peer).received[place_there(peer, rank)];
  const uint64_t round = payload.word64();
  const auto part = payload.rest();
  if (round != done.rounds[kCollectives] || offset != done.box || part.empty() ||
      part.size() > Segment::kBox - done.box)
    throw Malformed("a part of a box is out of order, or too large");
  std::memcpy(segment_.box(rank, round) + offset, part.data(), part.size());
  done.box += part.size();
}

void Mirror::receive_round(uint32_t peer, PayloadReader payload) {
  const uint32_t rank = payload.word32(), turn = payload.word32();
  RoundsDone& done = sides_.at(peer).received[place_there(peer, rank)];
  const uint64_t round = payload.word64();
  Descriptor said;
  for (uint32_t* const word : {&said.kind, &said.dtype, &said.reduction}) *word = payload.word32();
  said.root = static_cast<int32_t>(payload.word32());
  for (uint64_t* const word : {&said.count, &said.step}) *word = payload.word64();
  for (int32_t* const word : {&said.color, &said.key}) *word = static_cast<int32_t>(payload.word32());
  for (uint64_t* const word : {&said.sequence, &said.used}) *word = payload.word64();
  payload.end();
  if (turn >= kTurns || round != done.rounds[turn] || said.used != (turn == kCollectives ? done.box : 0))
    throw Malformed("a round is out of order, or without its box");
  RankArea& area = segment_.area(rank);
  area.descriptors[turn][round % 2] = said;
  area.rounds[turn].store(round + 1);
  ++done.rounds[turn];
  if (turn == kCollectives) done.box = 0;
  ring_here();
}

void Mirror::receive_letters(uint32_t peer, PayloadReader payload) {
  const uint32_t from = payload.word32(), to = payload.word32();
  Letters& both = letters(peer, place_here(to), place_there(peer, from));
  const uint64_t position = payload.word64(), size = segment_.mailbox_size();
  const auto part = payload.rest();
  Mailbox& mailbox = segment_.mailbox(from, to);
  const uint64_t unread = position - mailbox.read.load();
  if (position != both.received || part.empty() || part.size() > size)
    throw Malformed("bytes for a mailbox are out of order, or too many");
  if (unread > size || part.size() > size - unread) return cut_for_disorder();
  std::byte* const letters = segment_.letters(mailbox);
  const size_t straight = std::min<uint64_t>(part.size(), size - position % size);
  std::memcpy(letters + position % size, part.data(), straight);
  std::memcpy(letters, part.data() + straight, part.size() - straight);
  both.received = position + part.size();
  mailbox.written.store(position + part.size());
  ring(to);
}

void Mirror::receive_read(uint32_t peer, PayloadReader payload) {
  const uint32_t from = payload.word32(), to = payload.word32();
  Letters& both = letters(peer, place_here(from), place_there(peer, to));
  const uint64_t read = payload.word64();
  payload.end();
  if (read <= both.acknowledged || read > both.sent)
    throw Malformed("more has been read of a mailbox than was sent, or less than before");
  both.acknowledged = read;
  segment_.mailbox(from, to).read.store(read);
  ring(from);
}

}  // namespace jitc::software
