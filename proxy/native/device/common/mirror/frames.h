// Frames in which bridges exchange what ranks have published: written whole into a buffer, read with all
// bounds checked. The wire format is described in jitc/bridge_api.h.
//
// Promises: a frame is written whole or not at all; nothing outside of the bytes is ever read, whatever they
// are. Called by: mirrors of segments, the bridge.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"

namespace jitc::device {

static_assert(std::endian::native == std::endian::little);

enum class FrameKind : uint8_t {
  // About connections of two nodes.
  linked = 1,
  unlinked,
  wanted,
  // Sessions on the board.
  names,
  history,
  counters,
  // Segments of any device.
  absent,
  // Segments of the software device.
  joined,
  box,
  round,
  letters,
  read,
  // Segments of the cuda device.
  arrival,
  unique_id,
  requested,
};
inline constexpr size_t kFrameKinds = static_cast<size_t>(FrameKind::requested) + 1;
/// Returns the kind's name, for a count of frames.
std::string_view name_of(FrameKind kind);

/// Thrown for bytes that no bridge of this version would have sent.
class Malformed : public Error {
 public:
  using Error::Error;
};

struct FrameHead {
  static constexpr uint16_t kMark = 0x4a42;
  static constexpr uint8_t kVersion = 1;
  uint16_t mark = kMark;
  uint8_t version = kVersion;
  uint8_t kind = 0;
  uint32_t bytes = 0;    // of the payload
  uint64_t subject = 0;  // link, or session as the sender numbers it
};
static_assert(sizeof(FrameHead) == 16);

struct Frame {
  /// Most bytes of a payload: other frames get their turn in between.
  static constexpr size_t kLargest = 256u << 10;
  FrameKind kind;
  uint64_t subject;
  std::span<const std::byte> payload;
};

/// Numbers of frames and bytes by kind. Any thread.
class FrameCounts {
 public:
  struct Count {
    std::atomic<uint64_t> frames{0}, bytes{0};
  };
  void add(FrameKind kind, size_t payload) {
    Count& one = counts_[static_cast<size_t>(kind)];
    one.frames.fetch_add(1, std::memory_order_relaxed);
    one.bytes.fetch_add(sizeof(FrameHead) + payload, std::memory_order_relaxed);
  }
  const Count& of(FrameKind kind) const { return counts_[static_cast<size_t>(kind)]; }

 private:
  std::array<Count, kFrameKinds> counts_;
};

/// Writer of frames into a buffer.
class FrameWriter {
 public:
  FrameWriter(std::span<std::byte> room, FrameCounts& counts) : room_(room), counts_(counts) {}

  /// Returns the bytes written.
  size_t size() const { return size_; }
  /// Returns the largest payload that the next frame can have.
  size_t left() const;
  /// Begins a frame; the payload follows, exactly so many bytes. Returns false if there is no room.
  bool begin(FrameKind kind, uint64_t subject, size_t payload);
  void put(std::span<const std::byte> bytes);
  void put32(uint32_t value) { put(std::as_bytes(std::span(&value, 1))); }
  void put64(uint64_t value) { put(std::as_bytes(std::span(&value, 1))); }

 private:
  std::span<std::byte> room_;
  FrameCounts& counts_;
  size_t size_ = 0;
};

/// Reader of frames from a buffer of whole ones.
class FrameReader {
 public:
  explicit FrameReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  /// Returns the next frame, or nothing at the end. Throws Malformed.
  std::optional<Frame> next();

 private:
  std::span<const std::byte> rest_;
};

/// Reader of a payload. Throws Malformed where it is too short, or longer than what is read.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const std::byte> payload) : rest_(payload) {}
  std::span<const std::byte> bytes(size_t count);
  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  uint32_t word32() { return value<uint32_t>(); }
  uint64_t word64() { return value<uint64_t>(); }
  size_t left() const { return rest_.size(); }
  void end() const {
    if (!rest_.empty()) throw Malformed("a frame is longer than its content");
  }

 private:
  template <class T>
  T value();

  std::span<const std::byte> rest_;
};

}  // namespace jitc::device
