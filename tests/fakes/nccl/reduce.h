// Reductions of the fake NCCL: always in the order of ranks, so that results are equal on all of them and
// every time.
#pragma once
#include <cstddef>
#include <vector>

#include "abi.h"

namespace jitc::fakes {

/// 0: not a type.
size_t size_of(int type);
bool reducible(int type);
/// out = parts[0] op parts[1] op ...; out may be one of the parts.
void reduce(int type, int op, std::byte* out, const std::vector<const std::byte*>& parts, size_t count);
/// values *= the scalar, which is of the same type.
void scale(int type, std::byte* values, size_t count, const std::byte* scalar);

}  // namespace jitc::fakes
