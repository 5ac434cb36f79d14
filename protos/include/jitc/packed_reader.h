// The reader of packed bytes: numbers, records and lists back to back, little-endian and not aligned.
//
// Used by the API layer (results of ops), the session (completions), client_shim (replies), the executor
// (documents in the journal) and the operators library (calls). Promises: it never reads past the end; a
// count that the remaining bytes cannot back is refused before anything is allocated. A read that fails
// returns false and leaves the reader as it was; the caller decides what to report to the user.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace jitc {

static_assert(std::endian::native == std::endian::little);

class PackedReader {
 public:
  explicit PackedReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  [[nodiscard]] bool take(T* out) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (rest_.size() < sizeof(T)) return false;
    std::memcpy(out, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  [[nodiscard]] bool bytes(uint64_t count, std::span<const std::byte>* out) {
    if (count > rest_.size()) return false;
    *out = rest_.first(count);
    rest_ = rest_.subspan(count);
    return true;
  }
  template <class T>
  [[nodiscard]] bool list(uint64_t count, std::vector<T>* out) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > rest_.size() / sizeof(T)) return false;
    out->resize(count);
    if (count) std::memcpy(out->data(), rest_.data(), count * sizeof(T));
    rest_ = rest_.subspan(count * sizeof(T));
    return true;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

/// Copies a value from the begin of the bytes. Returns false if they are too few.
template <class T>
[[nodiscard]] bool unpack(std::span<const std::byte> bytes, T* out) {
  return PackedReader(bytes).take(out);
}

}  // namespace jitc
