// A client's cuBLAS and cuBLASLt calls as ops, for the cases of the cuda device.
#pragma once
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "harness.h"
#include "jitc/call_slots.h"

namespace jitc::test {

/// An argument of a call, before it is written as a slot.
struct Argument {
  ops::SlotKind kind = ops::SlotKind::null;
  std::array<std::byte, 16> value{};
  uint32_t bytes = 8;
  template <class T>
  T as() const {
    T out;
    std::memcpy(&out, value.data(), sizeof out);
    return out;
  }
  void write(CallWriter& call) const;
};
using Slots = std::vector<Argument>;

template <class T>
Argument argument_of(ops::SlotKind kind, T value) {
  Argument out{kind, {}, sizeof value};
  std::memcpy(out.value.data(), &value, sizeof value);
  return out;
}
inline Argument number(int64_t value) { return argument_of(ops::SlotKind::number, value); }
inline Argument address(uint64_t value) { return argument_of(ops::SlotKind::address, value); }
template <class T>
Argument scalar(T value) {
  return argument_of(ops::SlotKind::scalar, value);
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

/// Objects of cuBLASLt with their attributes, as they travel.
class Description {
 public:
  Description& object(ops::ObjectKind kind, std::initializer_list<int64_t> create = {});
  /// Of the object before; by number.
  template <class T>
  Description& attribute(uint32_t number, T value) {
    return attribute(number, &value, sizeof value);
  }
  Description& attribute(uint32_t number, const void* value, uint32_t bytes);
  /// The same layout for A, B, C and D.
  Description& square(int32_t type, int64_t n);
  std::span<const std::byte> bytes() const { return written_.bytes(); }
  uint32_t objects() const { return objects_; }
  /// Its bytes, and more to write behind them.
  CallWriter writer() const { return written_; }

 private:
  struct Writer : CallWriter {
    void count_call(size_t object);
  };
  Writer written_;
  uint32_t objects_ = 0;
  size_t object_ = 0;  // where the last one begins
  ops::ObjectKind kind_{};
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

/// A record of an op, and what comes behind its operands.
template <class Op>
struct Carried {
  Op op;
  std::vector<std::byte> payload;
};
/// A question for so many algorithms.
Carried<ops::LibraryAsk> question_of(const Description& description, int64_t requested);

/// The arguments of cublasLtMatmul.
struct LtProduct {
  uint64_t a = 0, b = 0, c = 0, d = 0, workspace = 0, workspace_bytes = 0;
  Argument alpha = scalar(1.0f), beta = scalar(0.0f);
  std::optional<LtAlgorithm> algorithm;
  Carried<ops::LibraryCall> with(const Description& description) const;
};

/// Bytes that spoil a record. Not 3, which would make an address null: that is the GPU's business, and ends
/// the context.
inline constexpr std::byte kSpoiled[] = {std::byte{0}, std::byte{1}, std::byte{2},
                                         std::byte{4}, std::byte{5}, std::byte{6},
                                         std::byte{8}, std::byte{9}, std::byte{200}};

}  // namespace jitc::test
