// Bounds-checked reading and appending of packed values (jitc/operator_call.h).
//
// Called by everything in this folder that touches bytes of a call or reply. Promises: a read past the end
// throws Malformed; a count larger than the remaining bytes is refused before anything is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "jitc/packed_reader.h"

namespace jitc::operators {

/// Error of a call that jitc's client cannot have written, or that names memory outside of the program's.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Error of numbers in an operand that the operator does not accept, such as an index out of range: a GPU's
/// kernel reports it as a device-side assert.
struct AssertTriggered : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : reader_(std::as_bytes(bytes)) {}

  template <class T>
  T take() {
    T value;
    if (!reader_.take(&value)) throw Malformed(kInValue);
    return value;
  }
  std::span<const uint8_t> bytes(uint64_t count) {
    std::span<const std::byte> taken;
    if (!reader_.bytes(count, &taken)) throw Malformed(kInValue);
    return {reinterpret_cast<const uint8_t*>(taken.data()), taken.size()};
  }
  template <class T>
  std::vector<T> list(uint64_t count) {
    std::vector<T> values;
    if (!reader_.list(count, &values)) throw Malformed("operator call ends in the middle of a list");
    return values;
  }
  std::string_view text(uint64_t count) {
    const auto taken = bytes(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  bool empty() const { return reader_.rest().empty(); }
  size_t left() const { return reader_.rest().size(); }

 private:
  static constexpr const char* kInValue = "operator call ends in the middle of a value";
  PackedReader reader_;
};

template <class T>
void append(std::vector<uint8_t>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), begin, begin + sizeof(T));
}

}  // namespace jitc::operators
