// Limits of a device for kernels: stack, heap, printf buffer.
//
// Promises: programs get the driver's actual value of a limit; a limit that it refuses is the call's error. A
// program that sets no limit gets CUDA's documented defaults and no session.
#include <array>
#include <atomic>

#include "api/common/gpu_count.h"
#include "api/generated/generated_api.h"
#include "api/stream/stream.h"
#include "jitc/packed_reader.h"
#include "session/message.h"

namespace jitc::api {
namespace {
/// Defaults by number (cudaLimit, CUlimit): stack, printf buffer, heap, depth of synchronization (which no
/// driver of CUDA 12 or later supports), pending launches, L2 fetch granularity, persisting L2 cache.
constexpr std::array<size_t, 7> kDefaults{1 << 10, 1 << 20, 8 << 20, 2, 2048, 64, 0};

constexpr int32_t kHeap = 2;

struct Set {
  std::atomic<bool> known{false};
  std::atomic<size_t> value{0};
};
std::array<std::array<Set, kDefaults.size()>, kMaxDevices> limits;

Set* limit_of(int32_t number) {
  const auto at = static_cast<size_t>(number);
  return number >= 0 && at < kDefaults.size() ? &limits[static_cast<size_t>(current_device())][at] : nullptr;
}
}  // namespace

int32_t cudaDeviceGetLimit(size_t* value, int32_t number) {
  const Set* const limit = limit_of(number);
  if (!value) return kInvalidValue;
  if (!limit) return kUnsupportedLimit;
  *value = limit->known ? limit->value.load() : kDefaults[static_cast<size_t>(number)];
  return kSuccess;
}

int32_t cudaDeviceSetLimit(int32_t number, size_t value) {
  Set* const limit = limit_of(number);
  if (!limit) return kUnsupportedLimit;
  Status status = kSuccess;
  Session* const session = current_session(&status);
  if (!session) return status;
  ops::LimitSet op;
  op.limit = number;
  op.value = value;
  const session::Result result = session->call(op);
  if (result.status) return from_result(result.status);
  uint64_t in_force = 0;
  if (!unpack(result.payload, &in_force)) return kUnknown;
  if (number == kHeap)
    session::message_once(
        "memory that kernels take with malloc or new is not kept over a recovery: a program must keep "
        "nothing there from step to step (docs/guarantees.md)");
  limit->value = in_force;
  limit->known = true;
  return kSuccess;
}

}  // namespace jitc::api
