// cuDNN for one session: asks, calls, execution plans.
//
// Promises: the library is opened, and its handle made, at the first use; plans are made at their first
// execution from the descriptions that the node keeps; a description, or a tensor by value, cannot make the
// library read host memory outside of the op. All functions throw OpError. Called by: Device, with its mutex
// held and the context bound.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "device/backend_options.h"
#include "device/services.h"
#include "dnn_objects.h"

namespace jitc::cuda {

class Dnn {
 public:
  Dnn(const BackendOptions& options, ImageSource& images);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  /// Content of dnn_ask, dnn_call and dnn_try.
  struct Request {
    uint32_t objects, calls;
    std::span<const std::byte> bytes;
  };
  CallOutcome call(const Request& request, abi::CUstream stream);
  void load_plan(const ops::DnnPlanLoad& op);
  void drop_plan(uint64_t plan);
  CallOutcome execute(uint64_t plan, uint64_t workspace, std::span<const ops::DnnTensor> tensors,
                      abi::CUstream stream);
  /// Makes exactly these plans; now: at once.
  void restore(const std::vector<Resources::DnnPlan>& wanted, bool now);

 private:
  struct Plan {
    ImageHash hash{};
    uint64_t bytes = 0;
    DnnObject::Pointer object;
    std::set<int64_t> by_value;
  };
  using Objects = std::vector<DnnObject::Pointer>;
  void open();
  void bind(abi::CUstream stream);
  Plan& made(Plan& plan);
  void invoke(const Invocation& call, const Objects& objects, CallOutcome& outcome);
  void get_attribute(const Invocation& call, const Objects& objects, CallOutcome& outcome);
  void get_weights(const Invocation& call, const Objects& objects, CallOutcome& outcome);
  void fill_states(const Invocation& call);
  ops::DnnPart part_of(const DnnObject& tensor, const void* address) const;
  std::unique_ptr<DnnObject> pack(const Plan& plan, uint64_t workspace,
                                  std::span<const ops::DnnTensor> tensors);

  const std::string path_;
  const std::vector<std::string> beside_;
  ImageSource& images_;
  std::shared_ptr<const Cudnn> library_;
  void* handle_ = nullptr;
  std::unique_ptr<DnnObjects> objects_;
  std::map<uint64_t, Plan> plans_;
};

}  // namespace jitc::cuda
