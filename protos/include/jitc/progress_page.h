// The progress page: progress of each stream, in memory that a session's client and its worker share.
//
// It lies in the session's pinned memory, behind the token, and outlives workers. The worker writes places,
// the client reads them and counts itself among the sleepers. The client repeats what it learns here in a
// `known` op before anything else that it sends, so that a replay keeps the order of what the program saw.
// Progress also travels in completions: the page is only faster, and a stream may have no place in it for a
// while.
//
// Neither side trusts the other: a client that writes garbage costs only itself time. docs/protocol.md.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitc {

struct ProgressPage {
  static constexpr size_t kOffset = 4096;  // in the pinned memory; before it lies the token
  static constexpr size_t kPlaces = 1023;
  /// Mark of a client that knows the page. For an older client the worker does not touch this memory.
  static constexpr uint64_t kReader = 0x6a69'7463'7061'6765;

  /// Clients that wait for the worker, so that it polls its device more often.
  struct alignas(64) Waiters {
    std::atomic<uint32_t> sleepers;  // at all places
    std::atomic<uint32_t> rings;     // a futex: changes when there is one more
    std::atomic<uint32_t> napping;   // a thread of the worker sleeps there
    std::atomic<uint64_t> reader;    // kReader once the client has the page
    bool are_there() const { return reader.load() == kReader; }
  };
  Waiters waiters;

  /// The place of one stream at a time. While another one takes it, `version` is odd.
  struct alignas(64) Place {
    std::atomic<uint64_t> stream;    // virtual stream + 1, 0: none yet
    std::atomic<uint64_t> executed;  // sequence; never goes back while the stream has the place
    std::atomic<uint32_t> version;   // a futex: changes, by two, when sleepers are to look again
    std::atomic<uint32_t> sleepers;  // threads of the client that wait, or are about to
  };
  Place places[kPlaces];

  /// Returns a stream's place: the default stream has the first. A handle has its number from bit 16 on.
  static constexpr size_t place_of(uint64_t stream) {
    return stream == 0 ? 0 : 1 + (stream >> 16) % (kPlaces - 1);
  }
};
static_assert(sizeof(ProgressPage) == 64 << 10 && std::atomic<uint64_t>::is_always_lock_free);

/// Bytes of the pinned memory reserved from the program: the token's page and the progress page.
inline constexpr size_t kPinnedReserved = ProgressPage::kOffset + sizeof(ProgressPage);

}  // namespace jitc
