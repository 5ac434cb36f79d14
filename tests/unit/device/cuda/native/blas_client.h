// A client's cuBLAS and cuBLASLt calls as ops, for the cases of the cuda device.
#pragma once
#include <cstring>
#include <string_view>
#include <vector>

#include "harness.h"

namespace jitc::test {

using Slots = std::vector<ops::BlasSlot>;

inline ops::BlasSlot slot_of(ops::BlasSlotKind kind, const void* value, uint32_t bytes) {
  ops::BlasSlot out;
  std::memcpy(out.value.data(), value, bytes);
  out.kind = static_cast<uint32_t>(kind);
  out.bytes = bytes;
  return out;
}
inline ops::BlasSlot number(int64_t value) {
  return slot_of(ops::BlasSlotKind::number, &value, sizeof value);
}
inline ops::BlasSlot address(uint64_t value) {
  return slot_of(ops::BlasSlotKind::address, &value, sizeof value);
}
template <class T>
ops::BlasSlot scalar(T value) {
  return slot_of(ops::BlasSlotKind::scalar, &value, sizeof value);
}

/// FNV-1a, as the client names functions.
constexpr uint32_t identifier(std::string_view name) {
  uint32_t value = 0x811c9dc5;
  for (const char one : name) value = (value ^ static_cast<uint8_t>(one)) * 0x01000193;
  return value;
}

/// A session with both libraries; the fakes find the fake driver by the environment.
class BlasSession : public Session {
 public:
  explicit BlasSession(const Options& options = with_libraries());
  static Options with_libraries();

  void create(uint64_t handle);
  void destroy(uint64_t handle);
  uint64_t set(uint64_t handle, ops::BlasField field, int32_t mode, uint64_t address = 0, uint64_t bytes = 0);
  uint64_t call(uint64_t handle, std::string_view name, const Slots& slots, uint64_t stream = 0);
  /// cublasSgemm_v2 of square matrices, alpha 1, beta 0 on the host.
  uint64_t product(uint64_t handle, uint64_t a, uint64_t b, uint64_t c, int64_t n, uint64_t stream = 0);
  Sink::Fault fault_of(uint64_t sequence);
};

/// A description: objects with attributes, as it travels.
class Description {
 public:
  Description& object(ops::LtKind kind, std::initializer_list<int64_t> create = {});
  /// Of the object before; by number.
  template <class T>
  Description& attribute(uint32_t number, T value) {
    return attribute(number, &value, sizeof value);
  }
  Description& attribute(uint32_t number, const void* value, uint32_t bytes);
  /// The same layout for A, B, C and D.
  Description& square(int32_t type, int64_t n);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  size_t object_ = 0;
};

struct LtAlgorithm {
  std::array<uint64_t, 8> data{};
};
struct LtResult {
  LtAlgorithm algorithm;
  uint64_t workspace;
  int32_t state;
  float waves;
  int32_t reserved[4];
};

/// The parts of lt_matmul.
struct LtProduct {
  ops::LtMatmul op;
  ops::BlasSlot alpha = scalar(1.0f), beta = scalar(0.0f);
  LtAlgorithm algorithm;
  std::vector<std::byte> payload(const Description& description);
};

}  // namespace jitc::test
