// Aspects of the software device (../../aspects.h): reports its activity, fails on request.
//
// Lock rule: none, any thread. Called by: the executor, through Device.
#pragma once
#include "device/aspects.h"
#include "device/common/turns/residency.h"
#include "device/software/stream/hangs.h"
#include "families.h"

namespace jitc::software {

class Aspects final : public Activity, public DeviceFaults {
 public:
  Aspects(Hangs& hangs, const device::Residency& residency, Communicators& communicators)
      : hangs_(hangs), residency_(residency), communicators_(communicators) {}

  std::optional<UnderWay> under_way() override { return hangs_.oldest_running(); }
  TurnsTaken turns_taken() const override { return residency_.taken(); }
  std::string cannot_inject(std::string_view kind) const override;
  bool inject(std::string_view kind, const ops::OpHeader& op, std::string& error) override;

 private:
  Hangs& hangs_;
  const device::Residency& residency_;
  Communicators& communicators_;
};

}  // namespace jitc::software
