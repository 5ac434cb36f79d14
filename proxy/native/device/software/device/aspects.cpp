// See aspects.h.
#include "aspects.h"

#include "base/operands.h"
#include "device/common/operands.h"

namespace jitc::software {

std::string Aspects::cannot_inject(std::string_view kind) const {
  for (const char* const known : {"endless-kernel", "hung-collective", "cut-link", "slow-link"})
    if (kind == known) return {};
  return "the software device has no kernels that could do that; its illegal access is sticky-error";
}

bool Aspects::inject(std::string_view kind, const ops::OpHeader& op, std::string& error) {
  error = cannot_inject(kind);
  if (!error.empty()) return false;
  if (kind != "cut-link" && kind != "slow-link") return hangs_.stall_at(op.sequence), true;
  try {
    communicators_.harm(as<ops::Collective>(op), kind == "cut-link");
  } catch (const OpError& failure) {
    error = failure.message;
  }
  return error.empty();
}

}  // namespace jitc::software
