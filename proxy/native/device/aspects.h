// Aspects: abilities of a device beside executing ops. A back end returns the aspects that it has
// (backend.h); copying and moving many blocks at once are aspects too (transfers.h).
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

/// Op that a device has begun and not ended.
struct UnderWay {
  uint64_t sequence = 0;
  bool collective = false;
  uint64_t part = 0;     // changes whenever a collective, or an op of several parts, makes progress
  bool entered = false;  // collective: this rank has contributed its part and waits for the others
};

/// Turns that the session took at the GPU (decision 67).
struct TurnsTaken {
  uint64_t times = 0, bytes = 0;  // times the memory was moved out, and bytes in total
  double seconds = 0;             // spent moving it, out and in
  bool out = false;               // the memory is not on the GPU now
};

/// Current activity of the device. Any thread. Called by: SessionStats, LateBoundary.
class Activity {
 public:
  virtual ~Activity() = default;
  /// Returns the oldest op that has begun and not ended; its `part` shows whether it makes progress.
  virtual std::optional<UnderWay> under_way() = 0;
  /// Returns how often the session's memory was moved out, and so on, if it takes turns at its GPU.
  virtual TurnsTaken turns_taken() const = 0;
};

/// Result of an abort (communicator_abort), for its replay.
struct KnownAbort {
  uint64_t handle, sequence;  // of the op
  std::vector<std::byte> outcome;
};

/// Communicators that a program aborts in the middle of collectives. Called by: Intake, SessionCore.
class Aborts {
 public:
  virtual ~Aborts() = default;
  /// Ends waits of collectives on the communicator at once: the op is in the journal, behind ops that may
  /// wait for what it ends. Any thread, while the device runs.
  virtual void abort_coming(const ops::CommunicatorAbort&) = 0;
  /// Supplies the results of aborts for a replay, before unfence(); all ops up to the sequence have run.
  virtual void expect_aborts(const std::vector<KnownAbort>&, uint64_t /*sequence*/) {}
};

/// Graphs whose content the device may lose by a fence. Called by: Recovery.
class GraphContents {
 public:
  virtual ~GraphContents() = default;
  /// Records what graphs and captures consist of now. Requires a fenced device; if nothing is restored, the
  /// device knows nothing else of them.
  virtual void remember_graphs(const Resources&) = 0;
};

/// Injected faults in the device itself. Called by: Session (arm), OpIssuer.
class DeviceFaults {
 public:
  virtual ~DeviceFaults() = default;
  /// Returns why a fault of this kind ("illegal-access", "endless-kernel", "hung-collective", "cut-link",
  /// "slow-link") cannot be injected; empty: it can.
  virtual std::string cannot_inject(std::string_view kind) const = 0;
  /// Makes the device fail in this way at the op, which is the next one submitted. False with the reason.
  virtual bool inject(std::string_view kind, const ops::OpHeader&, std::string& error) = 0;
};

}  // namespace jitc
