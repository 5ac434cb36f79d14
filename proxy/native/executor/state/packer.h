// The form in which documents go into the journal: values, texts and lists back to back.
//
// Promise: Unpacker throws Error at the end of the bytes, and before it makes a list that they cannot hold.
// Called by: every type with pack() or unpack(): resources, boundaries, steps, policies; Session (results).
#pragma once
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "jitc/packed_reader.h"

namespace jitc {

/// Packer of plain values and vectors of them.
class Packer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    put<uint64_t>(bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(const std::string& text) { put_bytes(std::as_bytes(std::span(text))); }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put<uint64_t>(values.size());
    for (const T& value : values) put(value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reader of packed values.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : reader_(bytes) {}
  template <class T>
  T get() {
    T value;
    require(reader_.take(&value));
    return value;
  }
  std::span<const std::byte> get_bytes() {
    std::span<const std::byte> bytes;
    require(reader_.bytes(get<uint64_t>(), &bytes));
    return bytes;
  }
  std::string get_text() {
    const auto bytes = get_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Returns a number of things that take at least one byte each.
  uint64_t get_count() {
    const auto count = get<uint64_t>();
    require(count <= reader_.rest().size());
    return count;
  }
  template <class T>
  std::vector<T> get_all() {
    std::vector<T> values;
    require(reader_.list(get<uint64_t>(), &values));
    return values;
  }

 private:
  static void require(bool enough) {
    if (!enough) throw Error("a journal record is too short");
  }
  PackedReader reader_;
};

}  // namespace jitc
