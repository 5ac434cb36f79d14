// The resource table of a session (what is alive, with what is needed to make it again), and the packed
// form in which it goes into the journal. Called by Session; applied op by op, live and in replay alike.
#pragma once
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backend.h"
#include "error.h"

namespace jitc {

/// Packs plain values and vectors of them.
class Packer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put<uint64_t>(values.size());
    for (const T& value : values) put(value);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes them out again; throws Error at the end of the bytes.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  T get() {
    if (rest_.size() < sizeof(T)) throw Error("a journal record is too short");
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const auto count = get<uint64_t>();
    if (count > rest_.size() / sizeof(T)) throw Error("a journal record is too short");
    std::vector<T> values;
    values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) values.push_back(get<T>());
    return values;
  }

 private:
  std::span<const std::byte> rest_;
};

void pack(Packer& packer, const Resources& resources);
Resources unpack_resources(Unpacker& unpacker);

class ResourceTable {
 public:
  /// Notes what a resource op does. A failed one (status) makes nothing.
  void apply(const ops::OpHeader& op, uint32_t status);
  void reset(const Resources& resources);
  /// backend: asked for the unique ids of split communicators; those it does not know are left out.
  Resources list(const Backend& backend) const;
  const std::map<uint64_t, Resources::Allocation>& allocations() const { return allocations_; }
  const std::map<uint64_t, Resources::Stream>& streams() const { return streams_; }

 private:
  std::map<uint64_t, Resources::Allocation> allocations_;
  std::map<uint64_t, Resources::Stream> streams_;
  std::map<uint64_t, Resources::Event> events_;
  std::map<uint64_t, Resources::Communicator> communicators_;  // ranks == 0: split, not asked for yet
};

}  // namespace jitc
