// Arithmetic of collectives. Promise: results depend only on the inputs and their order, so every rank that
// reduces the same inputs gets the same bits. 16-bit types: summed in float, rounded once.
// Called by: the collectives.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace jitc::software {

/// Returns the bytes of one element of an ncclDataType_t; 0: unknown.
size_t element_width(uint32_t dtype);
/// Returns whether the type can be reduced: fp8 types can only be moved.
bool reducible(uint32_t dtype);
const char* dtype_name(uint32_t dtype);

/// Reduces. reduction: ops::Reduction; premul_sum adds scaled inputs.
void reduce(uint32_t dtype, uint32_t reduction, std::span<const std::byte* const> inputs, std::byte* out,
            size_t count);
/// Computes out = in * factor. address: of a factor of dtype, or null: use value.
void scale(uint32_t dtype, const std::byte* address, double value, const std::byte* in, std::byte* out,
           size_t count);

}  // namespace jitc::software
