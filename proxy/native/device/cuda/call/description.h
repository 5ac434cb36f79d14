// Library data that an op carries: objects, as the calls that made them, and a call.
//
// Used by blas/ and dnn/. Promises: everything lies inside the given bytes; an object mentions only objects
// before it. All functions throw OpError. The bytes must outlive the description.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "jitc/call_slots.h"

namespace jitc::cuda {

struct Invocation {
  uint32_t function = 0;
  std::vector<SlotView> slots;
};
struct ObjectView {
  ops::ObjectKind kind{};
  std::vector<Invocation> calls;
};

/// Throws OpError unless the call has so many slots.
void check_count(const char* function, const Invocation& call, size_t slots);
/// Returns the value of a slot; throws OpError unless it is of this kind.
uint64_t value_of(const char* function, const Invocation& call, size_t at, ops::SlotKind kind);

class Description {
 public:
  Description(std::span<const std::byte> bytes, uint64_t objects, bool with_call);
  const std::vector<ObjectView>& objects() const { return objects_; }
  const std::optional<Invocation>& call() const { return call_; }

 private:
  std::vector<ObjectView> objects_;
  std::optional<Invocation> call_;
};

/// Reads the one call that the bytes hold; before: number of objects that it may mention.
Invocation read_call(std::span<const std::byte> bytes, uint64_t before);

}  // namespace jitc::cuda
