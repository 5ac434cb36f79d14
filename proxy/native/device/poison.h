// Poison for memory that a roll-back does not restore. Each word encodes its address, so a replay that reads
// it is detected.
//
// Called by: Restorer (JITC_POISON, validations) through back ends, and Validation, which looks for what is
// left of it.
#pragma once
#include <cstdint>
#include <span>

#include "device_memory.h"

namespace jitc {

/// Fills a piece of memory that begins at the address with what poisoned memory holds there.
void poison(uint64_t address, std::span<std::byte> piece);
/// Whether a whole aligned word of the piece is still so.
bool poisoned(uint64_t address, std::span<const std::byte> piece);
/// For a device that cannot do it by itself.
void poison_by_writing(DeviceMemory& memory, std::span<const MemoryRange> ranges);

}  // namespace jitc
