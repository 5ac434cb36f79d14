// Transfers of many blocks of device memory at a time: to host memory, and to another worker's device.
//
// Called by: RowCopies (boundaries), Restorer and PeerTransfer (recoveries). Implementations:
// device/cuda/access, device/cuda/peer. A device may lack both: Backend::read reads one block at a time.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace jitc {

/// Range of device memory.
struct MemoryRange {
  uint64_t address, bytes;
};

/// Block of device memory, and the host memory of its size that holds its copy.
struct BlockCopy {
  uint64_t address;
  std::span<std::byte> copy;
};

/// Copies blocks by the device's own engines, without a detour through other memory of the host.
class BlockCopier {
 public:
  virtual ~BlockCopier() = default;
  /// Sets the host memory that holds all copies; it stays mapped until the device is destroyed. Once, before
  /// copy().
  virtual void use(std::span<std::byte> arena) = 0;
  /// Copies all blocks, then returns; only while idle or fenced. False: a block is not allocated, or the
  /// device failed, which it reports; then the destination's content is undefined.
  virtual bool copy(std::span<const BlockCopy> blocks) = 0;
  /// Copies back: blocks get the content of their copies. Otherwise same as copy().
  virtual bool put_back(std::span<const BlockCopy> blocks) = 0;
  /// Begins copying beside later work of the device, until finish() has returned. A write to a block
  /// meanwhile spoils its copy. One finish() for each; copy() may come in between.
  virtual bool begin(std::span<const BlockCopy> blocks) = 0;
  /// Waits for begun copies. Any thread. False: the device failed, as for copy().
  virtual bool finish() = 0;
  /// Forgets a part of the arena that is about to lose its memory.
  virtual void forget(std::span<std::byte> memory) = 0;
};

/// Transfer of blocks from device to device, as one of its two workers has it.
struct DirectTransfer {
  bool sends = false;  // the other end receives
  std::string path;    // shared memory in which the ends meet: fresh, of a communicator of two
  uint64_t path_bytes = 0;
  std::chrono::milliseconds limit{0};  // afterwards it has failed
  std::function<bool()> cancelled;     // asked from any thread
};

/// Moves blocks between this device and another worker's without the host.
class BlockMover {
 public:
  virtual ~BlockMover() = default;
  virtual bool usable() const = 0;
  /// Moves blocks; both ends at once, with ranges of the same sizes in the same order; only while fenced.
  /// False with the reason: then the receiver's ranges are undefined, and nothing will be written there
  /// later. A failing end notifies the other one.
  virtual bool move_blocks(const DirectTransfer&, std::span<const MemoryRange>, std::string& error) const = 0;
};

}  // namespace jitc
