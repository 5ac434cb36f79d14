// gRPC messages in flight to the socket: a message in parts, and the bytes that the socket has not taken yet.
//
// Called by: client/call.cpp and server/accepted_call.cpp, which cut messages into HTTP/2 frames; the
// connections, which empty Outgoing. Promises: no I/O; a message is copied once, right into the socket's
// buffer.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "framing.h"
#include "jitc/transport.h"

namespace jitc::transport {

/// Bytes in flight to the socket; filled by a call, emptied by its connection.
class Outgoing {
 public:
  static constexpr size_t kCapacity = size_t{288} << 10;
  /// The room for another frame: nghttp2's data frames have at most 16 KiB.
  static constexpr size_t kFrameRoom = size_t{24} << 10;
  Outgoing() : bytes_(std::make_unique_for_overwrite<uint8_t[]>(kCapacity)) {}
  size_t size() const { return end_ - begin_; }
  size_t room() const { return kCapacity - end_; }
  const uint8_t* data() const { return bytes_.get() + begin_; }
  void append(const uint8_t* data, size_t size);
  void consume(size_t size);

 private:
  std::unique_ptr<uint8_t[]> bytes_;  // not cleared: most calls never use most of it
  size_t begin_ = 0, end_ = 0;
};

/// The message that is being sent.
class OutgoingMessage {
 public:
  static constexpr size_t kParts = 16;
  /// Returns the place for the next message's parts, at most kParts.
  jitc_bytes* parts() { return &spans_[1]; }
  /// Begins the message whose parts are in place: puts its length before them.
  void begin(size_t parts);
  void clear() { span_ = left_ = 0; }
  /// Returns the number of bytes that have not been copied.
  size_t left() const { return left_; }
  /// Copies a frame's head and so many bytes of the message. Returns false if there is no room for it.
  bool copy_frame(Outgoing& out, std::span<const uint8_t> head, size_t size);

 private:
  void copy_out(Outgoing& out, size_t size);

  std::array<uint8_t, kPrefixBytes> prefix_{};
  std::array<jitc_bytes, kParts + 1> spans_{};
  size_t span_ = 0, left_ = 0;
};

}  // namespace jitc::transport
