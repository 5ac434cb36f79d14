// See operator_handlers.h.
#include "operator_handlers.h"

namespace jitc::software {

void OperatorHandlers::call(const ops::OperatorCall& op) {
  issuer_.queue(op.header, [this, &op] { operators_->call(memory_, modules_, op.header); });
}

void OperatorHandlers::query(const ops::OperatorQuery& op) {
  issuer_.queue(op.header, [this, &op] { issuer_.answer(op.header, operators_->query(memory_, op.header)); });
}

void OperatorHandlers::multiply(const ops::Matmul& op) {
  issuer_.queue(op.header, [this, &op] { operators_->matmul(memory_, op.header); });
}

}  // namespace jitc::software
