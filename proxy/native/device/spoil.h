// What memory holds that is not restored in a roll-back: leaning on it shows, as each word tells its own
// address.
//
// Used by Session (spoil.cpp: JITC_POISON, validations), by Validation, and by back ends.
#pragma once
#include <cstdint>
#include <span>

#include "backend.h"

namespace jitc {

/// Fills a piece of memory that begins at the address with what spoiled memory holds there.
void spoil(uint64_t address, std::span<std::byte> piece);
/// Whether a whole aligned word of the piece is still so.
bool spoiled(uint64_t address, std::span<const std::byte> piece);
/// For a back end whose device cannot do it by itself.
void spoil_by_writing(Backend& backend, std::span<const MemoryRange> ranges);

}  // namespace jitc
