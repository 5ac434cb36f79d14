// See aspects.h.
#include "aspects.h"

namespace jitc::cuda {

std::optional<UnderWay> Aspects::under_way() {
  const uint64_t at = parts_.residency.takes_turns() ? parts_.families.collectives.at() : 0;
  auto work = at ? UnderWay{at, true, 0, true} : parts_.poller.under_way();
  if (work) parts_.residency.add_turns_to(*work);
  return work;
}

void Aspects::remember_graphs(const Resources& content) {
  const std::lock_guard lock(parts_.mutex);
  parts_.families.graphs.remember(content);
}

std::string Aspects::cannot_inject(std::string_view kind) const {
  return FaultInjector::knows(kind) ? std::string()
                                    : "this device cannot be made to fail by " + std::string(kind);
}

bool Aspects::inject(std::string_view kind, const ops::OpHeader& op, std::string& error) {
  error = cannot_inject(kind);
  if (!error.empty()) return false;
  const std::lock_guard lock(parts_.mutex);
  if (!parts_.state.running()) return error = "the device is at fault already", false;
  try {
    parts_.issuer.check("cuCtxSetCurrent", parts_.issuer.context()->bind());
    parts_.injector.inject(kind, op);
  } catch (const OpError& failure) {
    error = failure.message;
  } catch (const Abandoned&) {
    error = "a fence came first";
  }
  return error.empty();
}

}  // namespace jitc::cuda
