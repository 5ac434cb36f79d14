// Blocks that move between this device and another worker's, over NCCL. See device.h, link_end.h.
//
// Whatever is inside NCCL can fail to come back, against its promise. So an end runs in a thread of its own,
// which is left behind then. A sender can go on without it: the blocks are only read. A receiver cannot: they
// may still be written to, so its process ends, which is a death like any other.
#include <algorithm>
#include <future>
#include <thread>

#include "device/cuda/device/device.h"
#include "link_end.h"

namespace jitc::cuda {
namespace {
constexpr std::chrono::milliseconds kLook{20};

struct Outcome {
  bool moved = false;
  bool at_rest = true;
  std::string error;
};

/// error: why it cannot be, or empty.
Outcome run(LinkEnd& end, const std::vector<MemoryRange>& ranges, std::string error,
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
    error = "the link was cut";
  } catch (const std::exception& failure) {
    error = std::string("the worker failed: ") + failure.what();
  }
  return {false, end.give_up(rest), error};
}

/// By the link's limit, or some time after it was cut.
bool comes_back(const std::future<Outcome>& done, const Link& link, std::chrono::milliseconds grace) {
  const auto ready = [&](auto time) { return done.wait_for(time) == std::future_status::ready; };
  const auto until = std::chrono::steady_clock::now() + link.limit;
  while (!ready(kLook) && !link.cut())
    if (std::chrono::steady_clock::now() > until) break;
  return ready(grace);
}

}  // namespace

bool Device::links() const {
  std::string error;
  return Nccl::open(options_.libraries.path("nccl"), error) != nullptr;
}

bool Device::move_blocks(const Link& link, std::span<const MemoryRange> ranges, std::string& error) {
  const auto there = [this](const MemoryRange& one) { return memory_.contains(one.address, one.bytes); };
  const std::string refusal = std::ranges::all_of(ranges, there) ? "" : "a block is not allocated";
  const std::chrono::milliseconds rest(static_cast<int64_t>(rest_limit() * 1000));
  std::packaged_task<Outcome()> task(
      [end = std::make_shared<LinkEnd>(context_, options_.libraries.path("nccl"), link),
       blocks = std::vector(ranges.begin(), ranges.end()), refusal,
       rest] { return run(*end, blocks, refusal, rest); });
  auto done = task.get_future();
  std::thread thread(std::move(task));
  Outcome outcome{false, false, "NCCL does not come back"};
  if (comes_back(done, link, 3 * rest)) {
    thread.join();
    outcome = done.get();
  } else {
    thread.detach();
  }
  if (!outcome.at_rest && !link.sends) give_up_process();
  error = outcome.error;
  return outcome.moved;
}

}  // namespace jitc::cuda
