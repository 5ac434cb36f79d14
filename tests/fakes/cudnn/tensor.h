// Tensors as the fake cuDNN computes with them: the shape that a descriptor tells, and the content as numbers
// in row-major order whatever the strides are. Used by everything that computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace jitc::fakes {

/// cudnnDataType_t, those that the fake computes with.
enum DnnType : int {
  kDnnFloat = 0,
  kDnnDouble = 1,
  kDnnHalf = 2,
  kDnnInt8 = 3,
  kDnnInt32 = 4,
  kDnnBrain = 9
};
constexpr size_t kMostDims = 8;
/// More than a test wants, and so few that sums and products of them do not overflow.
constexpr int64_t kMostElements = 1 << 26, kMostStep = 1 << 30;

/// Bytes of a number; 0: not a type that the fake knows.
size_t width_of(int type);

using Numbers = std::vector<double>;

struct Shape {
  int type = kDnnFloat;
  std::vector<int64_t> dims = {}, strides = {};

  size_t count() const;
  /// Bytes from the first to the last element.
  size_t bytes() const;
  bool in_double() const { return type == kDnnDouble; }
  /// Throws kDnnBadParam or kDnnNotSupported.
  void check() const;
};

/// Without gaps, the last dimension's elements side by side.
Shape packed(int type, std::vector<int64_t> dims);

/// What becomes of results: result = alpha * result + beta * old.
struct Blend {
  double alpha = 1, beta = 0;
};
/// Of alpha and beta on the host, doubles for tensors of doubles, else floats. Throws kDnnNullPointer.
Blend blend_of(const Shape& shape, const void* alpha, const void* beta);

Numbers read_all(const Shape& shape, const std::byte* from);
void write_all(const Shape& shape, std::byte* to, std::span<const double> values, Blend blend = {});

/// The same for work on a stream, where the content lies at a device address.
Numbers read_at(const Shape& shape, uint64_t address);
void write_at(const Shape& shape, uint64_t address, std::span<const double> values, Blend blend = {});

/// The value as an arithmetic in float has it, unless it is one in double.
inline double rounded(double value, bool in_double) {
  return in_double ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace jitc::fakes
