// See stream_work.h.
#include "stream_work.h"

#include "driver_calls.h"

namespace jitc::fakes {
namespace {
constexpr int kIllegalAddress = 700;
struct NotAccessible {};

struct Work {
  std::function<void()> body;
  bool in_graph;  // may run again
};

void run(void* data) {
  auto* work = static_cast<Work*>(data);
  try {
    work->body();
  } catch (const NotAccessible&) {
    driver_calls()->fault(kIllegalAddress);
  }
  if (!work->in_graph) delete work;
}
}  // namespace

bool put_on_stream(void* stream, std::function<void()> body) {
  const DriverCalls* driver = driver_calls();
  int capturing = 0;
  if (!driver || driver->is_capturing(stream, &capturing) != 0) return false;
  auto* work = new Work{std::move(body), capturing != 0};
  if (driver->launch_host(stream, run, work) == 0) return true;
  delete work;
  return false;
}

std::byte* touch(uint64_t address, size_t bytes) {
  void* place = driver_calls()->memory(address, bytes);
  if (!place) throw NotAccessible{};
  return static_cast<std::byte*>(place);
}

}  // namespace jitc::fakes
