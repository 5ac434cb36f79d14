// Aspects of the cuda device (../../aspects.h): reports its activity, learns what graphs consist of, fails on
// request.
//
// Lock rule: takes the device's mutex where it says so; any thread. Called by: the executor, through Device.
#pragma once
#include <mutex>

#include "device/aspects.h"
#include "device/common/run_state.h"
#include "device/common/turns/residency.h"
#include "device/cuda/faults/fault_injector.h"
#include "families.h"

namespace jitc::cuda {

class Aspects final : public Activity, public GraphContents, public DeviceFaults {
 public:
  struct Parts {
    std::mutex& mutex;
    const RunState& state;
    Issuer& issuer;
    const CompletionPoller& poller;
    Families& families;
    FaultInjector& injector;
    const Residency& residency;
  };
  explicit Aspects(const Parts& parts) : parts_(parts) {}

  std::optional<UnderWay> under_way() override;
  TurnsTaken turns_taken() const override { return parts_.residency.taken(); }
  /// Takes the mutex.
  void remember_graphs(const Resources& content) override;
  std::string cannot_inject(std::string_view kind) const override;
  /// Takes the mutex.
  bool inject(std::string_view kind, const ops::OpHeader& op, std::string& error) override;

 private:
  const Parts parts_;
};

}  // namespace jitc::cuda
