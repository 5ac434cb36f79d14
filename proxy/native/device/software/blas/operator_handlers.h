// Handlers of PyTorch's operators and matrix products: ops of this device alone, run by the op's stream.
// Called by: Device::enqueue through its registry, with its mutex held.
#pragma once
#include <memory>

#include "device/common/handlers.h"
#include "device/software/issue/issuer.h"
#include "operators.h"

namespace jitc::software {

class OperatorHandlers {
 public:
  OperatorHandlers(const Issuer& issuer, const Memory& memory, const Modules& modules,
                   std::shared_ptr<const Operators> operators)
      : issuer_(issuer), memory_(memory), modules_(modules), operators_(std::move(operators)) {}

 private:
  void call(const ops::OperatorCall& op);
  void query(const ops::OperatorQuery& op);
  void multiply(const ops::Matmul& op);

  const Issuer& issuer_;
  const Memory& memory_;
  const Modules& modules_;
  const std::shared_ptr<const Operators> operators_;

 public:
  using Handled = HandlerList<&OperatorHandlers::call, &OperatorHandlers::query, &OperatorHandlers::multiply>;
};

}  // namespace jitc::software
