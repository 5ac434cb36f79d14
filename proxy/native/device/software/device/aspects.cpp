// See aspects.h.
#include "aspects.h"

#include <utility>

#include "base/operands.h"
#include "device/common/operands.h"

namespace jitc::software {

namespace {
using Kind = Impairment::Kind;
constexpr std::pair<std::string_view, Kind> kKinds[] = {{"endless-kernel", Kind::stall},
                                                        {"hung-collective", Kind::stall},
                                                        {"cut-link", Kind::cut},
                                                        {"slow-link", Kind::slow}};

Kind kind_of(std::string_view kind) {
  for (const auto& [name, how] : kKinds)
    if (name == kind) return how;
  return Kind::none;
}
}  // namespace

std::string Aspects::cannot_inject(std::string_view kind) const {
  if (kind_of(kind) != Kind::none) return {};
  return "the software device has no kernels that could do that; its illegal access is sticky-error";
}

bool Aspects::inject(std::string_view kind, const ops::OpHeader& op, std::string& error) {
  error = cannot_inject(kind);
  if (!error.empty()) return false;
  const Kind how = kind_of(kind);
  if (how == Kind::stall) return hangs_.impairment.stall_at(op.sequence), true;
  try {
    communicators_.impair(as<ops::Collective>(op), how);
  } catch (const OpError& failure) {
    error = failure.message;
  }
  return error.empty();
}

}  // namespace jitc::software
