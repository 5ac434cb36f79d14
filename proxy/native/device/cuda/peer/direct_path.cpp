// See direct_path.h.
#include "direct_path.h"

#include <algorithm>
#include <future>
#include <thread>

#include "device/cuda/driver/error.h"
#include "peer_endpoint.h"

namespace jitc::cuda {
namespace {
constexpr std::chrono::milliseconds kLook{20};

struct Outcome {
  bool moved = false;
  bool quiesced = true;
  std::string error;
};

/// error: the reason of a failure, or empty.
Outcome run(PeerEndpoint& end, const std::vector<MemoryRange>& ranges, std::string error,
            std::chrono::milliseconds rest) {
  try {
    end.open();
    if (error.empty()) {
      end.move(ranges);
      return {true, true, {}};
    }
  } catch (const OpError& failure) {
    error = failure.message;
  } catch (const Abandoned&) {
    error = "the transfer was cancelled";
  } catch (const std::exception& failure) {
    error = std::string("the worker failed: ") + failure.what();
  }
  return {false, end.give_up(rest), error};
}

/// Returns whether it ends by the transfer's limit, or some time after cancellation.
bool comes_back(const std::future<Outcome>& done, const DirectTransfer& transfer,
                std::chrono::milliseconds grace) {
  const auto ready = [&](auto time) { return done.wait_for(time) == std::future_status::ready; };
  const auto until = std::chrono::steady_clock::now() + transfer.limit;
  while (!ready(kLook) && !transfer.cancelled())
    if (std::chrono::steady_clock::now() > until) break;
  return ready(grace);
}

}  // namespace

bool DirectPath::usable() const {
  std::string error;
  return !residency_.takes_turns() && Nccl::open(nccl_path_, error) != nullptr;
}

bool DirectPath::move_blocks(const DirectTransfer& transfer, std::span<const MemoryRange> ranges,
                             std::string& error) const {
  const device::Residency::Use use(residency_);
  const auto there = [this](const MemoryRange& one) { return memory_.contains(one.address, one.bytes); };
  const std::string refusal = std::ranges::all_of(ranges, there) ? "" : "a block is not allocated";
  const std::chrono::milliseconds rest = quiesce_.limit();
  std::packaged_task<Outcome()> task([end = std::make_shared<PeerEndpoint>(context_, nccl_path_, transfer),
                                      blocks = real(memory_, ranges), refusal,
                                      rest] { return run(*end, blocks, refusal, rest); });
  auto done = task.get_future();
  std::thread thread(std::move(task));
  Outcome outcome{false, false, "NCCL does not come back"};
  if (comes_back(done, transfer, 3 * rest)) {
    thread.join();
    outcome = done.get();
  } else {
    thread.detach();
  }
  if (!outcome.quiesced && !transfer.sends) quiesce_.give_up_process();
  error = outcome.error;
  return outcome.moved;
}

}  // namespace jitc::cuda
