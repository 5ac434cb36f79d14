// What a device may be able to do beside executing ops. A back end returns the aspects that it has
// (backend.h); blocks that move at once are aspects as well (transfers.h).
//
// Called by: the parts of the executor that each aspect names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitc/generated_ops.h"

namespace jitc {

struct Resources;

/// An op that a device has begun and not ended.
struct UnderWay {
  uint64_t sequence = 0;
  bool collective = false;
  uint64_t part = 0;     // changes whenever a collective, or an op that consists of several, gets on
  bool entered = false;  // of a collective: this rank has given its part, and waits for what others give
};

/// Turns at the GPU (decision 67).
struct TurnsTaken {
  uint64_t times = 0, bytes = 0;  // that the memory was moved out, and how much that was together
  double seconds = 0;             // that moving it took, out and in
  bool out = false;               // it is not on the GPU now
};

/// What the device is busy with. Any thread. Called by: SessionStats, LateBoundary.
class Activity {
 public:
  virtual ~Activity() = default;
  /// The oldest op that the device has begun and not ended; its `part` shows whether it makes progress.
  virtual std::optional<UnderWay> under_way() = 0;
  /// Of a session that takes turns at its GPU: how often its memory was moved out, and so on.
  virtual TurnsTaken turns_taken() const = 0;
};

/// What the result of an abort says (communicator_abort), for its replay.
struct KnownAbort {
  uint64_t handle, sequence;  // of the op
  std::vector<std::byte> outcome;
};

/// Communicators that a program aborts in the middle of collectives. Called by: Intake, SessionCore.
class Aborts {
 public:
  virtual ~Aborts() = default;
  /// The op is in the journal, behind ops that may wait for what it ends: collectives on that communicator
  /// give up waiting now. Any thread, while the device runs.
  virtual void abort_coming(const ops::CommunicatorAbort&) = 0;
  /// Before unfence(): how the aborts ended that the replay comes to; all ops up to the sequence have run.
  virtual void expect_aborts(const std::vector<KnownAbort>&, uint64_t /*sequence*/) {}
};

/// Graphs whose content the device may lose by a fence. Called by: Recovery.
class GraphContents {
 public:
  virtual ~GraphContents() = default;
  /// What graphs and captures consist of now. While fenced; where nothing is restored it is all that the
  /// device knows of them.
  virtual void remember_graphs(const Resources&) = 0;
};

/// Faults on request, in the device itself. Called by: Session (arm), OpIssuer.
class DeviceFaults {
 public:
  virtual ~DeviceFaults() = default;
  /// Why the device cannot be made to fail in this way ("illegal-access", "endless-kernel",
  /// "hung-collective", "cut-link", "slow-link"); empty: it can.
  virtual std::string cannot_inject(std::string_view kind) const = 0;
  /// Makes it fail in this way at the op, which is the next one that it is given. False with the reason.
  virtual bool inject(std::string_view kind, const ops::OpHeader&, std::string& error) = 0;
};

}  // namespace jitc
