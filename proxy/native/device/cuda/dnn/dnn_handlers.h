// Handlers of cuDNN: calls, whose outcome may be the op's answer, and execution plans.
// Called by: Device::enqueue through its registry, with its mutex held and the context bound.
#pragma once
#include "device/common/handlers.h"
#include "device/cuda/issue/issuer.h"
#include "dnn.h"

namespace jitc::cuda {

class DnnHandlers {
 public:
  DnnHandlers(const Issuer& issuer, const BackendOptions& options, ImageSource& images)
      : issuer_(issuer), dnn_(options, images) {}
  Dnn& dnn() { return dnn_; }

 private:
  void ask(const ops::DnnAsk& op);
  void call(const ops::DnnCall& op);
  void try_call(const ops::DnnTry& op);
  void load_plan(const ops::DnnPlanLoad& op);
  void drop_plan(const ops::DnnPlanDrop& op);
  void execute(const ops::DnnExecute& op);
  void try_execute(const ops::DnnExecuteTry& op);
  /// Answers the op with the library's status of call(stream), unless the device is lost.
  template <class Call>
  void answer_outcome(const ops::OpHeader& op, Call&& call);

  const Issuer& issuer_;
  Dnn dnn_;

 public:
  using Handled =
      HandlerList<&DnnHandlers::ask, &DnnHandlers::call, &DnnHandlers::try_call, &DnnHandlers::load_plan,
                  &DnnHandlers::drop_plan, &DnnHandlers::execute, &DnnHandlers::try_execute>;
};

}  // namespace jitc::cuda
