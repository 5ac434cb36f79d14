// See handlers.h.
#include "handlers.h"

#include "error.h"

namespace jitc::device {

void Handlers::check(const ops::OpHeader& op) {
  const ops::OpInfo* const info = ops::find(op.op);
  if (!info) refuse(kNotSupported, "unknown-op", "this worker does not know the op: update the worker");
  if (op.size < info->fixed_size) refuse_value("the record is truncated");
}

}  // namespace jitc::device
