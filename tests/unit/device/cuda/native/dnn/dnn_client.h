// A client's cuDNN calls as ops, for the cases of the cuda device. Descriptions are made by the interposer's
// own code.
#pragma once
#include "api/call/call_record.h"
#include "jitc/generated_dnn.h"
#include "kernel/kernels.h"

namespace jitc::test {

using api::CallPayload;
using api::CallSlots;
using api::ObjectPointer;
using api::ObjectRecord;

/// A descriptor of the graph API; finalized unless told otherwise.
class GraphPart {
 public:
  explicit GraphPart(int32_t type);
  template <class T>
  GraphPart& set(int32_t name, int32_t type, std::vector<T> values) {
    CallSlots slots = attribute(name, type, values.size());
    slots.array(values.data(), values.size() * sizeof(T));
    return add(std::move(slots), name);
  }
  GraphPart& refer(int32_t name, std::vector<ObjectPointer> to);
  GraphPart& handle(int32_t name);
  ObjectPointer done(bool finalized = true);

 private:
  static CallSlots attribute(int32_t name, int32_t type, size_t count);
  GraphPart& add(CallSlots slots, int32_t name);
  std::shared_ptr<ObjectRecord> record_ = std::make_shared<ObjectRecord>();
};

/// A packed tensor of floats of the graph API; value: its one number comes with each execution.
ObjectPointer graph_tensor(int64_t uid, std::vector<int64_t> sizes, bool value = false);

/// y = x * b of floats, b a single number by value; uids 1, 2, 3.
struct Scaling {
  static constexpr int64_t kX = 1, kB = 2, kY = 3;
  explicit Scaling(int64_t count);
  /// The plan of the heuristics' answer with that place: 0 and 1 fail (making, executing), 2 and 3 work.
  ObjectPointer plan(int64_t place) const;
  ObjectPointer graph, heuristics;
};

/// A 4-D tensor of the older API.
ObjectPointer old_tensor(std::vector<int32_t> sizes);

struct DnnReply {
  uint32_t op;     // status of the op
  int32_t status;  // of the library
  Reply reply;
  /// What follows the status.
  template <class T>
  T value(size_t at = 0) const {
    return reply.value<T>(8 + at);
  }
  std::string words() const { return op ? reply.text() : reply.text().substr(8); }
};

class DnnSession : public KernelSession {
 public:
  explicit DnnSession(const Options& options = with_cudnn());
  static Options with_cudnn();

  DnnReply ask(const CallPayload& payload, uint32_t calls);
  DnnReply ask_raw(std::span<const std::byte> bytes, uint32_t objects, uint32_t calls);
  DnnReply ask(std::string_view function, const CallSlots& slots);
  DnnReply can_make(const ObjectPointer& record);
  DnnReply try_call(std::string_view function, const CallSlots& slots, uint64_t stream = 0);
  uint64_t call(std::string_view function, const CallSlots& slots, uint64_t stream = 0);

  /// Names the plan to the device; its description is an image from then on.
  void load(uint64_t plan, const std::string& name, const ObjectPointer& record);
  DnnReply try_execute(uint64_t plan, const std::vector<ops::DnnTensor>& tensors, uint64_t workspace = 0);
  uint64_t execute(uint64_t plan, const std::vector<ops::DnnTensor>& tensors, uint64_t workspace = 0,
                   uint64_t stream = 0);

 private:
  template <class Op>
  uint64_t give_call(std::string_view function, const CallSlots& slots, uint64_t stream);
  template <class Op>
  uint64_t give_execution(uint64_t plan, const std::vector<ops::DnnTensor>& tensors, uint64_t workspace,
                          uint64_t stream);
  DnnReply reply_to(uint64_t sequence);
};

/// Numbers from 1 to 4, and where they are scaled to.
struct Numbers {
  static constexpr int64_t kCount = 4;
  using Floats = std::vector<float>;
  explicit Numbers(DnnSession& s);
  std::vector<ops::DnnTensor> scaled(float by) const;
  /// Once everything has run.
  Floats result(DnnSession& s) const;
  uint64_t x, y, work;
};

/// Forward inference of a batch normalization of two channels: y = (x - mean) / sqrt(variance) * scale +
/// bias.
inline constexpr const char* kNormalize = "cudnnBatchNormalizationForwardInference";
CallSlots normalization(uint64_t x, uint64_t y, uint64_t statistics);
/// Scale 2, bias 1, mean 0, variance 1, 256 bytes apart.
uint64_t statistics(DnnSession& s);

ops::DnnTensor at_address(int64_t uid, uint64_t address);
ops::DnnTensor by_value(int64_t uid, float value);

}  // namespace jitc::test
