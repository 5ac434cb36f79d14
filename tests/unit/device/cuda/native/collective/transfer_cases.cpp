// Blocks between two devices over the fake NCCL: each end is a process of its own. What fails is told to both
// ends at once; the time limits of these cases are far longer than they take, but where one is the matter.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "device/cuda/peer/peer_endpoint.h"
#include "harness.h"
#include "ranks.h"

namespace jitc::test {
namespace {
constexpr int kSender = 0;
constexpr std::chrono::seconds kLong{kLimitSeconds};

/// One end, on a host of its own as far as NCCL can tell: both use one GPU.
class End : public Session {
 public:
  End(Segments& segments, int rank, const Options& wanted = {})
      : Session(on_its_host(rank, wanted)), sends_(rank == kSender), segments_(segments) {}

  /// The reason of a failure, empty when the blocks have moved.
  std::string move(const std::vector<MemoryRange>& blocks, std::chrono::milliseconds limit = kLong) {
    DirectTransfer transfer{sends_, {}, 0, limit, [this] { return cancelled.load(); }};
    std::string error;
    const CommunicatorSegment segment = segments_.join(unique_id(1), 2, 0);
    transfer.path = "/proc/self/fd/" + std::to_string(segment.file->get());
    transfer.path_bytes = segment.bytes;
    backend->fence();
    return backend->mover()->move_blocks(transfer, blocks, error) ? "" : error;
  }
  std::atomic<bool> cancelled{false};

 private:
  static Options on_its_host(int rank, const Options& wanted) {
    setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
    return wanted;
  }
  const bool sends_;
  Segments& segments_;
};

/// The text has one of these.
void check_says(const std::string& text, std::initializer_list<const char*> all) {
  const auto says = [&](const char* words) { return contains(text, words); };
  if (std::ranges::none_of(all, says)) throw Failure{"it says: \"" + text + '"'};
}
}  // namespace

CASE(transfer_messages_are_cut_alike) {
  const std::vector<MemoryRange> ranges{{1000, 0}, {2000, 10}, {3000, 11}, {4000, 25}};
  std::vector<std::pair<uint64_t, uint64_t>> cut;
  for (const auto& [address, bytes] : cuda::messages_of(ranges, 10)) cut.push_back({address, bytes});
  const std::vector<std::pair<uint64_t, uint64_t>> expected{{2000, 10}, {3000, 10}, {3010, 1},
                                                            {4000, 10}, {4010, 10}, {4020, 5}};
  CHECK(cut == expected);
}

CASE(transfer_blocks_move_and_nothing_else) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    End s(segments, rank);
    constexpr uint64_t kCount = 600, kStride = 4096;  // more than a group of messages
    const auto place = [&](uint64_t i) { return rank == kSender ? i : kCount - 1 - i; };  // another order
    const auto size = [](uint64_t i) { return i == 7 ? 0 : i * 37 % 4000 + 1; };
    std::vector<uint8_t> bytes(kCount * kStride, 0xee);
    for (uint64_t i = 0; rank == kSender && i < kCount; ++i)
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(i * kStride), size(i),
                  static_cast<uint8_t>(i % 251));
    const uint64_t base = s.upload(bytes);
    std::vector<MemoryRange> blocks;
    for (uint64_t i = 0; i < kCount; ++i) blocks.push_back({base + place(i) * kStride, size(i)});
    CHECK_EQUAL(s.move(blocks), "");
    const auto now = s.download<uint8_t>(base, bytes.size());
    for (uint64_t i = 0; i < kCount; ++i)
      for (uint64_t at = 0; at < kStride; ++at)
        CHECK_EQUAL(int{now[place(i) * kStride + at]}, at < size(i) ? static_cast<int>(i % 251) : 0xee);
    s.backend->unfence();  // and it goes on
    s.fill(base, kStride, 3);
    s.synchronize();
    CHECK(s.download<uint8_t>(base, kStride) == std::vector<uint8_t>(kStride, 3));
  });
}

CASE(transfer_of_large_blocks) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    End s(segments, rank);
    std::vector<uint32_t> words(3u << 20);
    for (uint32_t i = 0; rank == kSender && i < words.size(); ++i) words[i] = i * 2654435761u;
    const uint64_t block = s.upload(words);
    CHECK_EQUAL(s.move({{block, words.size() * 4}}), "");
    const auto now = s.download<uint32_t>(block, words.size());
    for (uint32_t i = 0; i < now.size(); ++i) CHECK_EQUAL(now[i], i * 2654435761u);
  });
}

CASE(transfer_two_workers_of_one_host_on_a_gpu_are_refused) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    End s(segments, rank);
    setenv("NCCL_HOSTID", "the same", 1);
    const std::string why = s.move({{s.allocate(4096), 4096}});
    check_says(why, {"Duplicate GPU", "given up"});
  });
}

CASE(transfer_an_end_without_the_block_tells_the_other) {
  for (const int wrong : {0, 1}) {
    Segments segments;
    segments.make(unique_id(1));
    run_ranks(2, [&](int rank) {
      End s(segments, rank);
      const uint64_t block = s.allocate(4096);
      const std::string why = s.move({{block, rank == wrong ? 1u << 30 : 4096}});
      check_says(why, {rank == wrong ? "is not allocated" : "given up"});
    });
  }
}

CASE(transfer_an_end_without_nccl_tells_the_other) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Options options;
    if (rank != kSender) options.nccl = "/nowhere/libnccl.so.2";
    End s(segments, rank, options);
    CHECK_EQUAL(s.backend->mover()->usable(), rank == kSender);
    const std::string why = s.move({{s.allocate(4096), 4096}});
    check_says(why, {rank == kSender ? "given up" : "cannot be opened"});
  });
}

CASE(transfer_a_call_that_fails_ends_both) {
  for (const char* const rule : {"ncclSend:1=3", "ncclRecv:2=3", "ncclCommInitRankConfig:1=2"}) {
    prepare_failures();
    ask_for_failures(rule);
    Segments segments;
    segments.make(unique_id(1));
    run_ranks(2, [&](int rank) {
      End s(segments, rank);
      const uint64_t block = s.allocate(8192);
      const std::string why = s.move({{block, 4096}, {block + 4096, 4096}});
      const bool all_was_sent =
          rank == kSender && why.empty() && std::string_view(rule).starts_with("ncclRecv");
      if (!all_was_sent) check_says(why, {"NCCL: ", "given up"});
    });
  }
}

CASE(transfer_an_error_while_bytes_move_ends_both) {
  prepare_failures();
  ask_for_failures("ncclWork:1=6");
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    End s(segments, rank);
    const std::string why = s.move({{s.allocate(4096), 4096}});
    check_says(why, {"remote process exited", "given up"});
  });
}

CASE(transfer_work_that_hangs_ends_with_the_limit) {
  prepare_failures();
  ask_for_failures("ncclWork:1=hang");
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    End s(segments, rank);
    const uint64_t block = s.upload(std::vector<uint8_t>(4096, 5));
    const std::string why = s.move({{block, 4096}}, std::chrono::milliseconds(300));
    check_says(why, {"in time", "given up"});
    CHECK(s.download<uint8_t>(block, 4096) == std::vector<uint8_t>(4096, 5));
  });
}

CASE(transfer_that_nobody_wants_any_more_is_cancelled) {
  Segments segments;
  segments.make(unique_id(1));
  End s(segments, kSender);
  s.cancelled = true;
  CHECK_EQUAL(s.move({{s.allocate(4096), 4096}}), "the transfer was cancelled");  // the other end never comes
}

CASE(transfer_without_a_segment) {
  Segments segments;
  End s(segments, kSender);
  DirectTransfer transfer{true, "/nowhere/segment", 4096, kLong, [] { return false; }};
  std::string error;
  s.backend->fence();
  CHECK(!s.backend->mover()->move_blocks(transfer, {}, error));
  check_says(error, {"cannot open the communicator's segment"});
}

/// The sender's blocks are only read, so it can go on beside what hangs. The receiver's may still be written.
/// They are more than is on its way at once: the sender cannot be done before the receiver fails.
CASE(transfer_abort_that_hangs_costs_the_receiver_its_process) {
  prepare_failures();
  ask_for_failures("ncclRecv:1=3,ncclCommAbort:1=hang");
  Segments segments;
  segments.make(unique_id(1));
  Options impatient;
  impatient.hang_seconds = 0.3;
  const std::chrono::seconds limit(1);
  constexpr uint64_t kBytes = 1 << 20;
  run_ranks(2, [&](int rank) {
    if (rank == kSender) {
      End s(segments, rank, impatient);
      const uint64_t block = s.upload(std::vector<uint8_t>(kBytes, 5));
      CHECK_EQUAL(s.move({{block, kBytes}}, limit), "NCCL does not come back");
      CHECK(s.download<uint8_t>(block, kBytes) == std::vector<uint8_t>(kBytes, 5));
      _exit(0);  // the thread that hangs is still there
    }
    std::string written;
    const int status = run_child(
        [&] {
          End s(segments, rank, impatient);
          s.move({{s.allocate(kBytes), kBytes}}, limit);
        },
        written);
    CHECK_EQUAL(status, 70);
    check_says(written, {"does not come to rest"});
  });
}

}  // namespace jitc::test
