// The content of a device's memory: read, written, hashed and poisoned while the device is idle or fenced.
//
// Called by: whoever copies and compares blocks (boundaries, restores, validations). Implemented by the back
// ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "transfers.h"

namespace jitc {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Direct access while idle or fenced; false when the range is not allocated.
  virtual bool read(uint64_t address, std::span<std::byte> out) const = 0;
  /// The same with the content hash of what was read, in one pass over the bytes. While the device runs, too:
  /// whoever knows what should be there can tell.
  virtual bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const = 0;
  virtual bool write(uint64_t address, std::span<const std::byte> data) = 0;
  /// By how many threads at once these three are best called.
  virtual int copy_threads() const { return 1; }
  /// Content hashes (content_hash.h) of all ranges, in their order; kNoHash: empty, not allocated, or the
  /// device failed (which it reports). Where the device can, it does it by itself, in one go.
  virtual void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const = 0;
  /// True where hash_all is the device's own work: then it is cheaper than hashing what was read.
  virtual bool hashes_itself() const { return false; }
  /// Fills ranges with what poisoned memory holds (poison.h). Only while fenced; what is not allocated is
  /// passed over.
  virtual void poison_all(std::span<const MemoryRange> ranges) = 0;
  virtual uint64_t memory_used() const = 0;
  virtual uint64_t memory_total() const = 0;
};

}  // namespace jitc
