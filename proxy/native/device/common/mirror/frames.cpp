// See frames.h.
#include "frames.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace jitc::device {
namespace {
constexpr std::array<std::string_view, kFrameKinds> kNames{
    "",       "linked", "unlinked", "wanted",  "names", "history", "counters",  "absent",
    "joined", "box",    "round",    "letters", "read",  "arrival", "unique_id", "requested"};
}  // namespace

std::string_view name_of(FrameKind kind) { return kNames[static_cast<size_t>(kind)]; }

size_t FrameWriter::left() const {
  const size_t room = room_.size() - size_;
  return std::min(Frame::kLargest, room - std::min(room, sizeof(FrameHead)));
}

bool FrameWriter::begin(FrameKind kind, uint64_t subject, size_t payload) {
  if (room_.size() - size_ < sizeof(FrameHead) + payload || payload > Frame::kLargest) return false;
  FrameHead head;
  head.kind = static_cast<uint8_t>(kind);
  head.bytes = static_cast<uint32_t>(payload);
  head.subject = subject;
  put(std::as_bytes(std::span(&head, 1)));
  counts_.add(kind, payload);
  return true;
}

void FrameWriter::put(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::memcpy(room_.data() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

std::optional<Frame> FrameReader::next() {
  if (rest_.empty()) return std::nullopt;
  FrameHead head;
  if (rest_.size() < sizeof head) throw Malformed("the bytes end inside of a frame");
  std::memcpy(&head, rest_.data(), sizeof head);
  if (head.mark != FrameHead::kMark) throw Malformed("the bytes are no frames");
  if (head.version != FrameHead::kVersion)
    throw Malformed("frames of version " + std::to_string(head.version) + ", and this bridge has version " +
                    std::to_string(FrameHead::kVersion) + ": both nodes need the same release of jitc");
  if (head.kind == 0 || head.kind >= kFrameKinds)
    throw Malformed("a frame of the unknown kind " + std::to_string(head.kind));
  if (head.bytes > Frame::kLargest)
    throw Malformed("a frame of " + std::to_string(head.bytes) + " bytes is too large");
  if (rest_.size() - sizeof head < head.bytes) throw Malformed("the bytes end inside of a frame");
  const Frame frame{static_cast<FrameKind>(head.kind), head.subject, rest_.subspan(sizeof head, head.bytes)};
  rest_ = rest_.subspan(sizeof head + head.bytes);
  return frame;
}

std::span<const std::byte> PayloadReader::bytes(size_t count) {
  if (rest_.size() < count) throw Malformed("a frame is shorter than its content");
  const auto found = rest_.first(count);
  rest_ = rest_.subspan(count);
  return found;
}

template <class T>
T PayloadReader::value() {
  T found;
  std::memcpy(&found, bytes(sizeof found).data(), sizeof found);
  return found;
}
template uint32_t PayloadReader::value();
template uint64_t PayloadReader::value();

}  // namespace jitc::device
