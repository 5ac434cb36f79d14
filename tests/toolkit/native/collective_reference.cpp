// See collective_reference.h. Values are kept as small doubles and packed by type; the 16-bit types are
// packed with the compiler's own arithmetic, independent of the device's conversions.
#include "collective_reference.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace jitc::test {
namespace {
using ops::CollectiveKind;
using ops::Reduction;

size_t width(uint32_t dtype) {
  static const size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return widths[dtype];
}

/// Half of a value that fp16 holds exactly or that is a multiple of a power of two near it.
uint16_t half_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 to 1
  const double units = std::nearbyint(std::ldexp(fraction, 11));    // 1024 to 2048
  const auto bits = static_cast<uint32_t>((exponent + 14) << 10) + static_cast<uint32_t>(units) - 1024;
  return static_cast<uint16_t>((value < 0 ? 0x8000u : 0u) | bits);
}

uint16_t bfloat_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const double units = std::nearbyint(std::ldexp(fraction, 8));  // 128 to 256
  const auto bits = static_cast<uint32_t>((exponent + 126) << 7) + static_cast<uint32_t>(units) - 128;
  return static_cast<uint16_t>((value < 0 ? 0x8000u : 0u) | bits);
}

template <class T>
void append(std::vector<std::byte>& out, T value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void append(std::vector<std::byte>& out, uint32_t dtype, double value) {
  switch (dtype) {
    case 0:
      return append(out, static_cast<int8_t>(value));
    case 1:
      return append(out, static_cast<uint8_t>(value));
    case 2:
      return append(out, static_cast<int32_t>(value));
    case 3:
      return append(out, static_cast<uint32_t>(value));
    case 4:
      return append(out, static_cast<int64_t>(value));
    case 5:
      return append(out, static_cast<uint64_t>(value));
    case 6:
      return append(out, half_bits(value));
    case 7:
      return append(out, static_cast<float>(value));
    case 8:
      return append(out, value);
    default:
      return append(out, bfloat_bits(value));
  }
}

bool is_integer(uint32_t dtype) { return dtype <= 5; }

/// Input element of a rank: small, different by rank and place, at most 3.
double element(int rank, uint64_t index) {
  return static_cast<double>((index * 5 + static_cast<uint64_t>(rank) * 3 + index / 7) % 4);
}

double reduced(const Setup& setup, uint64_t index) {
  const auto input = [&](int rank) {
    return element(rank, index) * (setup.reduction == Reduction::premul_sum ? 1.0 + rank : 1.0);
  };
  double value = input(0);
  for (int rank = 1; rank < setup.ranks; ++rank) {
    if (setup.reduction == Reduction::prod)
      value *= input(rank);
    else if (setup.reduction == Reduction::max)
      value = std::fmax(value, input(rank));
    else if (setup.reduction == Reduction::min)
      value = std::fmin(value, input(rank));
    else
      value += input(rank);
  }
  if (setup.reduction != Reduction::avg) return value;
  if (is_integer(setup.dtype)) return std::trunc(value / setup.ranks);
  return setup.dtype == 8 ? value / setup.ranks
                          : static_cast<double>(static_cast<float>(value) / static_cast<float>(setup.ranks));
}

uint64_t input_elements(const Setup& setup) {
  const bool many = setup.kind == CollectiveKind::reduce_scatter || setup.kind == CollectiveKind::all_to_all;
  return setup.count * (many ? static_cast<uint64_t>(setup.ranks) : 1);
}

uint64_t output_elements(const Setup& setup) {
  const bool many = setup.kind == CollectiveKind::all_gather || setup.kind == CollectiveKind::all_to_all;
  return setup.count * (many ? static_cast<uint64_t>(setup.ranks) : 1);
}

double output(const Setup& setup, uint64_t index) {
  const uint64_t own = static_cast<uint64_t>(setup.rank) * setup.count;
  switch (setup.kind) {
    case CollectiveKind::broadcast:
      return element(setup.root, index);
    case CollectiveKind::reduce:
      return setup.rank == setup.root ? reduced(setup, index) : 0;  // untouched
    case CollectiveKind::all_gather:
      return element(static_cast<int>(index / setup.count), index % setup.count);
    case CollectiveKind::reduce_scatter:
      return reduced(setup, own + index);
    case CollectiveKind::all_to_all:
      return element(static_cast<int>(index / setup.count), own + index % setup.count);
    default:
      return reduced(setup, index);
  }
}
}  // namespace

std::string describe(const Setup& setup) {
  return "kind " + std::to_string(static_cast<int>(setup.kind)) + " type " + std::to_string(setup.dtype) +
         " reduction " + std::to_string(static_cast<int>(setup.reduction)) + " ranks " +
         std::to_string(setup.ranks) + " count " + std::to_string(setup.count);
}

std::vector<std::byte> make_input(const Setup& setup) {
  std::vector<std::byte> own;
  own.reserve(input_elements(setup) * width(setup.dtype));
  for (uint64_t i = 0; i < input_elements(setup); ++i) append(own, setup.dtype, element(setup.rank, i));
  return own;
}

size_t output_bytes(const Setup& setup) { return output_elements(setup) * width(setup.dtype); }

std::vector<std::byte> make_output(const Setup& setup) {
  std::vector<std::byte> out;
  out.reserve(output_bytes(setup));
  for (uint64_t i = 0; i < output_elements(setup); ++i) append(out, setup.dtype, output(setup, i));
  return out;
}

}  // namespace jitc::test
