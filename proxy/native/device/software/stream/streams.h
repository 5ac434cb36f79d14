// Streams of one session by virtual handle, and the order between them and the legacy default stream.
//
// Lock rule: the device's mutex. Called by: Issuer, StreamHandlers, Device.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/operands.h"
#include "device/resources.h"
#include "hangs.h"
#include "stream.h"

namespace jitc::software {

class Streams {
 public:
  /// runner, crew, hangs: used once there are streams.
  Streams(Runner& runner, Crew& crew, Hangs& hangs);
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Stream& legacy() { return *legacy_; }
  /// Watches the legacy default stream from now on.
  void watch_legacy() { hangs_.watch(legacy_); }
  /// Returns the stream; throws OpError if there is none, or it is a name of the default one.
  Stream& at(uint64_t handle) const;
  /// Returns the op's stream; throws OpError if there is none.
  Stream& of(const ops::OpHeader& op) { return op.stream <= kLastDefaultStream ? *legacy_ : at(op.stream); }
  /// Returns all busy streams, including destroyed ones.
  std::vector<Stream*> busy() const;

  /// Makes a stream. Throws OpError.
  void create(uint64_t handle, uint32_t flags);
  /// Removes the handle at once and the stream once its work is done.
  void destroy(uint64_t handle);
  void reap();
  /// Makes exactly these. Requires empty queues.
  void restore(const std::vector<Resources::Stream>& wanted);

  /// Returns what must be over before the next op of the stream starts, beside the stream's own earlier ops.
  std::vector<After> legacy_order(Stream& stream);
  /// Passes the stream's progress over an op that needs nothing of it.
  void note(const ops::OpHeader& op);

 private:
  using Pointer = std::shared_ptr<Stream>;
  void add(uint64_t handle, uint32_t flags);

  Runner& runner_;
  Crew& crew_;
  Hangs& hangs_;
  const Pointer legacy_;
  std::unordered_map<uint64_t, Pointer> streams_;  // without the legacy default stream
  std::vector<Pointer> blocking_;                  // the legacy stream waits for these
  std::vector<Pointer> zombies_;                   // destroyed, with work to do
};

}  // namespace jitc::software
