// What an op of cuDNN carries: descriptors as the calls that made them, and a call.
//
// Used by dnn_objects.cpp and dnn.cpp. Promises: everything lies inside the bytes given; an object mentions
// only objects before it. Throws OpError. The bytes must outlive it.
#pragma once
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc::cuda {

struct DnnSlotView {
  ops::DnnSlot slot;
  const void* inlined;              // where its value lies
  std::span<const std::byte> data;  // of an array, or of objects
  bool is(ops::DnnSlotKind kind) const { return slot.kind == static_cast<uint32_t>(kind); }
  /// The places that it mentions.
  std::vector<uint64_t> places() const;
};
struct DnnInvocation {
  uint32_t function = 0;
  std::vector<DnnSlotView> slots;
};
struct DnnObjectView {
  ops::DnnKind kind{};
  std::vector<DnnInvocation> calls;
};

class DnnDescription {
 public:
  DnnDescription(std::span<const std::byte> bytes, uint64_t objects, bool with_call);
  const std::vector<DnnObjectView>& objects() const { return objects_; }
  const std::optional<DnnInvocation>& call() const { return call_; }

 private:
  template <class Record>
  Record take();
  DnnSlotView take_slot(uint64_t before);
  DnnInvocation take_call(uint64_t before);

  std::span<const std::byte> rest_;
  std::vector<DnnObjectView> objects_;
  std::optional<DnnInvocation> call_;
};

}  // namespace jitc::cuda
