// The streams of one session by virtual handle, and the order between them and the legacy default stream.
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
  /// The legacy default stream is watched from now on.
  void watch_legacy() { hangs_.watch(legacy_); }
  /// Throws OpError when there is none, or it is a name of the default one.
  Stream& at(uint64_t handle) const;
  /// That of the op; throws OpError when there is none.
  Stream& of(const ops::OpHeader& op) { return op.stream <= kLastDefaultStream ? *legacy_ : at(op.stream); }
  /// With those that were destroyed, if they have work to do.
  std::vector<Stream*> busy() const;

  /// Throws OpError.
  void create(uint64_t handle, uint32_t flags);
  /// Out of reach at once, gone once its work is done.
  void destroy(uint64_t handle);
  void reap();
  /// Exactly these. Nothing is queued.
  void restore(const std::vector<Resources::Stream>& wanted);

  /// What must be over before the next op of the stream starts, beside the stream's own earlier ops.
  std::vector<After> legacy_order(Stream& stream);
  /// The op's stream has nothing to do for it, but its progress must still pass the op.
  void note(const ops::OpHeader& op);

 private:
  using Pointer = std::shared_ptr<Stream>;
  void add(uint64_t handle, uint32_t flags);

  Runner& runner_;
  Crew& crew_;
  Hangs& hangs_;
  const Pointer legacy_;
  std::unordered_map<uint64_t, Pointer> streams_;  // without the legacy default stream
  std::vector<Pointer> blocking_;                  // those that the legacy stream waits for
  std::vector<Pointer> zombies_;                   // destroyed, their work is not done yet
};

}  // namespace jitc::software
