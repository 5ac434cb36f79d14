// Poison for memory that a roll-back does not restore. Each word encodes its address, so a replay that reads
// it is detected.
//
// Called by: Restorer (JITC_POISON, validations) through back ends, and Validation, which searches for
// remaining poison.
#pragma once
#include <cstdint>
#include <span>

#include "device_memory.h"

namespace jitc {

/// Fills a piece of memory that begins at the address with poison.
void poison(uint64_t address, std::span<std::byte> piece);
/// Returns whether a whole aligned word of the piece is still poisoned.
bool poisoned(uint64_t address, std::span<const std::byte> piece);
/// Poisons through writes, for a device that cannot do it by itself.
void poison_by_writing(DeviceMemory& memory, std::span<const MemoryRange> ranges);

}  // namespace jitc
