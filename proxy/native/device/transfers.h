// Blocks of device memory on their way, many at a time: to memory of the host, and to another worker's
// device.
//
// Called by: RowCopies (boundaries), Restorer and PeerTransfer (recoveries). Implementations:
// device/cuda/access, device/cuda/peer. A device that has none of them does without: Backend::read gives one
// block at a time.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace jitc {

/// Of device memory.
struct MemoryRange {
  uint64_t address, bytes;
};

/// A block of device memory, and the host memory of its size that holds its copy.
struct BlockCopy {
  uint64_t address;
  std::span<std::byte> copy;
};

/// Copies blocks by the device's own engines, without a detour through other memory of the host.
class BlockCopier {
 public:
  virtual ~BlockCopier() = default;
  /// The host memory that blocks have their copies in lies in this range, which stays mapped until the device
  /// is gone. Once, before copy().
  virtual void use(std::span<std::byte> arena) = 0;
  /// Returns when all blocks are copied; only while idle or fenced. False: a block is not allocated, or the
  /// device failed, which it reports; then nothing is known of what was to be written.
  virtual bool copy(std::span<const BlockCopy> blocks) = 0;
  /// The other way: blocks get back what their copies hold. As copy() otherwise.
  virtual bool put_back(std::span<const BlockCopy> blocks) = 0;
  /// The same beside what the device is given from now on, until finish() has returned. What is written to a
  /// block meanwhile spoils its copy. One finish() for each; copy() may come in between.
  virtual bool begin(std::span<const BlockCopy> blocks) = 0;
  /// Any thread. False: the device failed, as for copy().
  virtual bool finish() = 0;
  /// That part of the arena is about to lose its memory.
  virtual void forget(std::span<std::byte> memory) = 0;
};

/// A transfer of blocks from device to device, as one of its two workers has it.
struct DirectTransfer {
  bool sends = false;  // the other end receives
  std::string path;    // shared memory in which the ends find each other: fresh, of a communicator of two
  uint64_t path_bytes = 0;
  std::chrono::milliseconds limit{0};  // then it has failed
  std::function<bool()> cancelled;     // asked from any thread
};

/// Moves blocks between this device and another worker's without the host.
class BlockMover {
 public:
  virtual ~BlockMover() = default;
  virtual bool usable() const = 0;
  /// Both ends at once, with ranges of the same sizes in the same order; only while fenced. False with the
  /// reason: then nothing is known of the receiver's ranges, and nothing will be written there later. An end
  /// that cannot go on tells the other one.
  virtual bool move_blocks(const DirectTransfer&, std::span<const MemoryRange>, std::string& error) const = 0;
};

}  // namespace jitc
