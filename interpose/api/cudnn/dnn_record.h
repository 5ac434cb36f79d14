// A cuDNN descriptor as the program made it, that is the calls that a worker has to repeat; and the payload
// of an op.
//
// Used by the dnn_*.cpp files. Promises: a record with several owners is never changed; equal descriptors
// become equal bytes; a record keeps those that it mentions alive, even if the program has destroyed them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "jitc/generated_dnn.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

struct DnnRecord;
using DnnRecordPointer = std::shared_ptr<const DnnRecord>;

/// The slots of one call as they travel, except that an object is an index into mentioned.
class DnnSlots {
 public:
  void number(int64_t value);
  void real(double value);
  /// 0: null.
  void address(uint64_t value);
  void null();
  void handle();
  void object(DnnRecordPointer what);
  void objects(std::vector<DnnRecordPointer> what);
  /// At most 8 bytes.
  void scalar(const void* at, uint32_t bytes);
  void array(const void* at, uint64_t bytes);
  void result(uint64_t bytes);

  uint32_t count() const { return count_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::vector<DnnRecordPointer>& mentioned() const { return mentioned_; }

 private:
  void add(ops::DnnSlotKind kind, uint64_t value, uint32_t bytes = 8);
  void add_bytes(const void* at, uint64_t bytes);

  uint32_t count_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<DnnRecordPointer> mentioned_;
};

struct DnnRecord {
  struct Call {
    uint32_t function;
    DnnSlots slots;
  };
  ops::DnnKind kind{};
  std::vector<Call> calls;
  int32_t data_type = -1;  // cudnnDataType_t, where there is one
  std::vector<int32_t> sizes;

  /// Adds a call. It replaces an earlier call of the same function (and, in the graph API, of the same part,
  /// an attribute).
  void repeat(uint32_t function, DnnSlots slots, int64_t part = -1);
  const DnnSlots* find(uint32_t function, int64_t part = -1) const;
};

/// The number, or the bytes of the array, in a slot of a call; 0 or empty if there is none.
int64_t number_at(const DnnSlots& slots, size_t at);
std::span<const std::byte> array_at(const DnnSlots& slots, size_t at);

/// The payload of an op: objects, each behind those that it mentions, and a call.
class DnnPayload {
 public:
  void add(const DnnRecordPointer& record);
  void add_call(uint32_t function, const DnnSlots& slots);
  uint32_t objects() const { return static_cast<uint32_t>(places_.size()); }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// A hash that is the same for every use of a call: without the addresses in the call itself.
  uint64_t question() const;

 private:
  std::map<const DnnRecord*, uint64_t> places_;
  std::vector<std::byte> bytes_;
  size_t call_ = 0;  // where the call begins
};

}  // namespace jitc::api
