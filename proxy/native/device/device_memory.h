// Content of a device's memory: read, written, hashed and poisoned while the device is idle or fenced.
//
// Called by: the parts that copy and compare blocks (boundaries, restores, validations). The back ends
// implement it.
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
  /// Reads memory directly while idle or fenced; false when the range is not allocated.
  virtual bool read(uint64_t address, std::span<std::byte> out) const = 0;
  /// Does the same and returns the content hash of the bytes, in one pass. Allowed while the device runs,
  /// too: a caller that knows the expected content can check.
  virtual bool read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const = 0;
  virtual bool write(uint64_t address, std::span<const std::byte> data) = 0;
  /// Returns the best number of threads to call these three with at once.
  virtual int copy_threads() const { return 1; }
  /// Computes content hashes (content_hash.h) of all ranges, in their order; kNoHash: empty, not allocated,
  /// or the device failed (which it reports). The device does it by itself in one go if it can.
  virtual void hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const = 0;
  /// Returns whether the device itself computes hash_all: then that is cheaper than hashing on reading.
  virtual bool hashes_itself() const { return false; }
  /// Fills ranges with poison (poison.h). Requires a fenced device; skips unallocated memory.
  virtual void poison_all(std::span<const MemoryRange> ranges) = 0;
  virtual uint64_t memory_used() const = 0;
  virtual uint64_t memory_total() const = 0;
};

}  // namespace jitc
