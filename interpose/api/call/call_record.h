// Record of a library's call as the program made it, of the objects that it needs as the calls that made
// them, and the payload of an op with both.
//
// Used by the functions of cuBLAS, cuBLASLt and cuDNN. Promises: a record with several owners never changes;
// equal objects become equal bytes; a record keeps the objects that it mentions alive, even if the program
// has destroyed them.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "jitc/call_slots.h"

namespace jitc::api {

struct ObjectRecord;
using ObjectPointer = std::shared_ptr<const ObjectRecord>;

/// Call in its transmitted form, except that an object is an index into mentioned.
class CallSlots : public CallWriter {
 public:
  CallSlots() { begin(0); }
  void object(ObjectPointer what);
  void objects(std::vector<ObjectPointer> what);

  void name(uint32_t function);
  uint32_t function() const;
  const std::vector<ObjectPointer>& mentioned() const { return mentioned_; }

 private:
  std::vector<ObjectPointer> mentioned_;
};

struct ObjectRecord {
  ops::ObjectKind kind{};
  std::vector<CallSlots> calls;
  int32_t data_type = -1;  // cudnnDataType_t, where there is one
  std::vector<int32_t> sizes;

  /// Adds a call. It replaces an earlier call of the same function (and, in the graph API, of the same part,
  /// an attribute).
  void repeat(uint32_t function, CallSlots slots, int64_t part = -1);
  const CallSlots* find(uint32_t function, int64_t part = -1) const;
};

/// Returns a slot of a call; the number 0 if there is none.
SlotView slot_at(const CallSlots& slots, size_t at);
/// Returns the bytes of the array in a slot of a call; empty if there is none.
std::span<const std::byte> array_at(const CallSlots& slots, size_t at);

/// Payload of an op: objects, each behind those that it mentions, and a call.
class CallPayload {
 public:
  void add(const ObjectPointer& record);
  void add_call(uint32_t function, const CallSlots& slots);
  uint32_t objects() const { return static_cast<uint32_t>(places_.size()); }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Returns a hash that is the same for every use of a call: without the addresses in the call itself.
  uint64_t question() const;

 private:
  std::map<const ObjectRecord*, uint64_t> places_;
  std::vector<std::byte> bytes_;
  size_t call_ = 0;  // where the call begins
};

}  // namespace jitc::api
