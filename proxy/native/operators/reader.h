// Bounds-checked reading and appending of packed values (jitc/operator_call.h).
//
// Called by everything in this folder that touches bytes of a call or reply. Promises: a read past the end
// throws Malformed; a count that the remaining bytes cannot back is refused before anything is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace jitc::operators {

/// The call is not one that jitc's client writes, or it names memory that the program does not own.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const uint8_t> bytes(uint64_t count) {
    if (count > rest_.size()) throw Malformed("operator call ends in the middle of a value");
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  template <class T>
  std::vector<T> list(uint64_t count) {
    if (count > rest_.size() / sizeof(T)) throw Malformed("operator call ends in the middle of a list");
    std::vector<T> values(count);
    if (count) std::memcpy(values.data(), bytes(count * sizeof(T)).data(), count * sizeof(T));
    return values;
  }
  std::string_view text(uint64_t count) {
    const auto taken = bytes(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  bool empty() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }

 private:
  std::span<const uint8_t> rest_;
};

template <class T>
void append(std::vector<uint8_t>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), begin, begin + sizeof(T));
}

}  // namespace jitc::operators
