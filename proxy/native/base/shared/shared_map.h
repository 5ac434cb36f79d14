// A mapped file or memfd that another process owns. Sparse: only written pages take memory.
//
// Called by: the board, the journal and others that keep state outside of the worker.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace jitc {

class SharedMap {
 public:
  /// Access to the mapping; with `read` a write to it is a crash.
  enum class Access { read, write };
  SharedMap() = default;
  /// Opens and maps `bytes` of path. A shorter file is extended, or refused if it is only to be read. Throws
  /// Error.
  SharedMap(const std::string& path, uint64_t bytes, Access access = Access::write);
  SharedMap(SharedMap&& other) noexcept;
  SharedMap& operator=(SharedMap&& other) noexcept;
  ~SharedMap();

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  /// Makes sure that the range can be written. Returns false if there is no space left.
  bool reserve(uint64_t offset, uint64_t bytes) const;
  /// Returns the ranges that take no memory: offset and bytes.
  std::map<uint64_t, uint64_t> holes() const;
  /// Returns the range's memory to the system; it reads as zeros afterwards.
  void release(uint64_t offset, uint64_t bytes) const;

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace jitc
