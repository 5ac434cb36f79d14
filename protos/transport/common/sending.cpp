#include "sending.h"

#include <algorithm>
#include <cstring>

namespace jitc::transport {

void Outgoing::append(const uint8_t* data, size_t size) {
  std::memcpy(bytes_.get() + end_, data, size);
  end_ += size;
}

void Outgoing::consume(size_t size) {
  begin_ += size;
  if (begin_ == end_) begin_ = end_ = 0;
}

void OutgoingMessage::begin(size_t parts) {
  size_t size = 0;
  for (size_t i = 1; i <= parts; ++i) size += spans_[i].size;
  write_prefix(prefix_.data(), size);
  spans_[0] = {prefix_.data(), kPrefixBytes};
  span_ = 0;
  left_ = kPrefixBytes + size;
}

bool OutgoingMessage::copy_frame(Outgoing& out, std::span<const uint8_t> head, size_t size) {
  if (out.room() < head.size() + size) return false;
  out.append(head.data(), head.size());
  copy_out(out, size);
  return true;
}

void OutgoingMessage::copy_out(Outgoing& out, size_t size) {
  left_ -= size;
  while (size > 0) {
    jitc_bytes& span = spans_[span_];
    const size_t piece = std::min(size, span.size);
    out.append(span.data, piece);
    span.data += piece;
    span.size -= piece;
    size -= piece;
    if (span.size == 0) ++span_;
  }
}

}  // namespace jitc::transport
