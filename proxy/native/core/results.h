// Results of ops that wait: known once, delivered once, compared ever after.
//
// A result that is in the journal is final. It is owed until the client says that it has it; when its op
// runs again in replay, the new result must be the same and is not delivered. Called by Session from any
// thread (its own lock).
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "checksum.h"

namespace jitc {

class Results {
 public:
  using Bytes = std::span<const std::byte>;
  /// Fixed part of a result record in the journal; the payload follows.
  struct Record {
    uint32_t status;
    uint32_t reserved;
    Hash hash;
  };
  struct Owed {
    uint64_t sequence;
    uint32_t status;
    std::vector<std::byte> payload;
  };

  static Hash hash_of(uint32_t status, Bytes payload);

  /// Hash of the result known for the op, if there is one.
  std::optional<Hash> known(uint64_t sequence) const;
  std::optional<uint32_t> status(uint64_t sequence) const;
  /// position: of its journal record.
  void add(uint64_t sequence, const Record& record, Bytes payload, uint64_t position);
  /// The client has all results up to sequence.
  void received(uint64_t sequence);
  uint64_t received() const;
  std::vector<Owed> owed() const;
  /// Journal position of the oldest result that is owed.
  std::optional<uint64_t> oldest_owed() const;
  /// Ops up to sequence will never run again.
  void forget(uint64_t sequence);

 private:
  struct Entry {
    Record record;
    std::vector<std::byte> payload;  // empty once received
    uint64_t position;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;
  uint64_t received_ = 0;
};

}  // namespace jitc
