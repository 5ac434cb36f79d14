// Generated from protos/ops/faults.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include <array>
#include <csignal>
#include <string_view>

namespace jitc::ops {

/// Who makes a fault happen; what each means: protos/ops/faults.py.
enum class FaultCarrier { signal, sessions, device, service };

struct FaultKind {
  std::string_view name;
  FaultCarrier carrier;
  int signal;       // of the carrier of that name
  bool collective;  // it waits for an op that is a collective
};
inline constexpr std::array<FaultKind, 11> kFaults{{
    {"kill-worker", FaultCarrier::signal, SIGKILL, false},
    {"crash-worker", FaultCarrier::signal, SIGSEGV, false},
    {"stop-worker", FaultCarrier::signal, SIGSTOP, false},
    {"sticky-error", FaultCarrier::sessions, 0, false},
    {"illegal-access", FaultCarrier::device, 0, false},
    {"endless-kernel", FaultCarrier::device, 0, false},
    {"hung-collective", FaultCarrier::device, 0, true},
    {"cut-link", FaultCarrier::device, 0, true},
    {"slow-link", FaultCarrier::device, 0, true},
    {"xid", FaultCarrier::service, 0, false},
    {"lose-gpu", FaultCarrier::service, 0, false},
}};
/// Where in a minibatch: the phase that an op is in, the point that it passes.
inline constexpr std::array<std::string_view, 3> kPhases{"forward", "backward", "optimizer"};
inline constexpr std::array<std::string_view, 3> kPoints{"collective", "copy", "boundary"};
/// Of the values of CollectiveKind, for texts.
inline constexpr std::array<std::string_view, 8> kCollectiveNames{"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "send", "receive"};

/// nullptr: there is none of that name.
constexpr const FaultKind* find_fault(std::string_view name) {
  for (const FaultKind& one : kFaults)
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace jitc::ops
