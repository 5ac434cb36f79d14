// Results of ops that wait: known once, delivered once, compared in every replay.
//
// A result that is in the journal is final. It is owed until the client says that it has it; when its op runs
// again in replay, the new result must be the same and is not delivered. Its bytes are kept by the journal
// alone: a result that a client does not take costs no memory here. Called by: Delivery, OpIssuer, Replay and
// Intake, from any thread (its own lock).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/checksum.h"

namespace jitc {

/// Location of a result's bytes: in its record in the journal or, where that had no room, here.
struct ResultBytes {
  static constexpr uint64_t kHere = UINT64_MAX;
  uint64_t position = kHere;  // of the record
  size_t size = 0;
  std::vector<std::byte> here;
};
/// Reader of the bytes that are in the journal.
using ResultReader = std::function<std::span<const std::byte>(uint64_t position, size_t size)>;

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
    ResultBytes bytes;
  };

  static Hash hash_of(uint32_t status, Bytes payload);

  /// Returns the hash of the result known for the op, if there is one.
  std::optional<Hash> known(uint64_t sequence) const;
  std::optional<uint32_t> status(uint64_t sequence) const;
  void add(uint64_t sequence, const Record& record, ResultBytes bytes);
  /// Notes that the client has all results up to sequence.
  void received(uint64_t sequence);
  uint64_t received() const;
  /// Returns the results owed; nothing if some of them are lost (take_in).
  std::optional<std::vector<Owed>> owed() const;
  /// Returns the journal position of the oldest result that is owed.
  std::optional<uint64_t> oldest_owed() const;
  /// Forgets ops up to sequence, which will never run again.
  void forget(uint64_t sequence);
  /// Copies owed results that the journal is about to forget: at most `most` bytes, the newest ones. A client
  /// that has more than that still to receive cannot be served any more.
  void take_in(const ResultReader& read, uint64_t most);
  size_t count() const;

  /// Notes that the op is being executed, and that its result will have about so many bytes.
  void promise(uint64_t sequence, uint64_t bytes);
  /// Returns the promised bytes. Takes no lock: the dispatcher asks before every op.
  uint64_t promised() const { return promised_.load(); }
  bool is_promised(uint64_t sequence) const;
  /// Drops promises of ops whose execution was dropped.
  void drop_promises();

 private:
  struct Entry {
    Record record;
    ResultBytes bytes;
    bool lost = false;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;
  uint64_t received_ = 0;
  std::map<uint64_t, uint64_t> promises_;  // by sequence
  std::atomic<uint64_t> promised_{0};      // sum
};

}  // namespace jitc
