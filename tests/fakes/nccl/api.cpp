// The exported functions of the fake NCCL: communicators. The operations are in api_operations.cpp.
#include "api.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "functions.h"
#include "group.h"
#include "reduce.h"

namespace jitc::fakes {
namespace {
constexpr int kVersion = 22809;
thread_local std::string last_text;

struct Registry {
  std::mutex mutex;
  std::map<uint64_t, CommunicatorPointer> all;
  uint64_t next = 0x6e0000;
};

Registry& registry() {
  static Registry* const one = new Registry;
  return *one;
}

ncclComm_t add(const CommunicatorPointer& communicator) {
  const std::lock_guard lock(registry().mutex);
  registry().all[registry().next += 16] = communicator;
  return reinterpret_cast<ncclComm_t>(registry().next);
}

CommunicatorPointer take(ncclComm_t handle) {
  const CommunicatorPointer one = communicator_of(handle);
  const std::lock_guard lock(registry().mutex);
  registry().all.erase(reinterpret_cast<uint64_t>(handle));
  return one;
}

bool is_blocking(const ncclConfig_t* config, bool otherwise) {
  if (!config) return otherwise;
  if (config->magic != kConfigMagic) throw NcclFailure{kNcclInvalidArgument};
  return config->blocking == kUndefined ? true : config->blocking != 0;
}

/// What a call answers whose work is on the communicator's thread.
int answer(const CommunicatorPointer& communicator) {
  if (!communicator->blocking) return kNcclInProgress;
  if (!Group::of_thread().open()) return communicator->wait_idle();
  Group::of_thread().await(communicator);
  return kNcclSuccess;
}

int init(const char* name, ncclComm_t* out, int size, const ncclUniqueId& id, int rank,
         const ncclConfig_t* config) {
  return nccl_call(name,
                   {Field::real("ranks", size), Field::real("rank", rank), Field::bytes("id", &id, 32),
                    Field::real("blocking", config ? config->blocking : kUndefined)},
                   [&](CallLine& line) -> int {
                     if (!out || size < 1 || rank < 0 || rank >= size) return kNcclInvalidArgument;
                     const auto one = std::make_shared<Communicator>(rank, size, is_blocking(config, true));
                     *out = add(one);
                     line.add(Field::address("out", *out));
                     line.add(Field::text("environment", environment_seen().c_str()));
                     one->start([self = one.get(), id] { return self->join(id); });
                     const int result = answer(one);
                     if (result && result != kNcclInProgress) {
                       last_text = one->error_text();
                       take(std::exchange(*out, nullptr));
                     }
                     return result;
                   });
}
}  // namespace

CommunicatorPointer communicator_of(ncclComm_t handle) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().all.find(reinterpret_cast<uint64_t>(handle));
  if (found == registry().all.end()) throw NcclFailure{kNcclInvalidArgument};
  return found->second;
}

CommunicatorPointer ready(ncclComm_t handle) {
  CommunicatorPointer one = communicator_of(handle);
  const int state = one->state();
  if (state == kNcclInProgress) throw NcclFailure{kNcclInvalidArgument};
  if (state) throw NcclFailure{state};
  return one;
}

int ncclGetVersion(int* version) {
  const char* text = std::getenv("JITC_FAKE_NCCL_VERSION");
  return *version = text ? std::atoi(text) : kVersion, kNcclSuccess;
}

int ncclGetUniqueId(ncclUniqueId* out) {
  return nccl_call("ncclGetUniqueId", {}, [&](CallLine& line) -> int {
    *out = Segment::make();
    line.add(Field::bytes("out", out, 32));
    return out->internal[0] ? kNcclSuccess : kNcclSystemError;
  });
}

const char* ncclGetErrorString(int code) {
  static constexpr const char* kTexts[] = {"no error",
                                           "unhandled cuda error",
                                           "unhandled system error",
                                           "internal error",
                                           "invalid argument",
                                           "invalid usage",
                                           "remote process exited or there was a network error",
                                           "NCCL operation in progress"};
  return code >= 0 && code <= kNcclInProgress ? kTexts[code] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t handle) {
  try {
    if (handle) last_text = communicator_of(handle)->error_text();
  } catch (const NcclFailure&) {
    last_text.clear();
  }
  return last_text.c_str();
}

int ncclCommInitRank(ncclComm_t* out, int size, ncclUniqueId id, int rank) {
  return init("ncclCommInitRank", out, size, id, rank, nullptr);
}
int ncclCommInitRankConfig(ncclComm_t* out, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return init("ncclCommInitRankConfig", out, size, id, rank, config);
}

int ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t* out, ncclConfig_t* config) {
  return nccl_call(
      "ncclCommSplit", {Field::address("comm", handle), Field::real("color", color), Field::real("key", key)},
      [&](CallLine& line) -> int {
        const CommunicatorPointer parent = ready(handle);
        if (!out || (color < 0 && color != kNoColor)) return kNcclInvalidArgument;
        *out = nullptr;
        CommunicatorPointer child;
        if (color != kNoColor) {
          child = std::make_shared<Communicator>(0, 1, is_blocking(config, parent->blocking), parent.get());
          *out = add(child);
        }
        line.add(Field::address("out", *out));
        parent->start_split(color, key, child);
        const int result = answer(parent);
        return result || !child ? result : answer(child);
      });
}

int ncclCommFinalize(ncclComm_t handle) {
  return nccl_call("ncclCommFinalize", {Field::address("comm", handle)}, [&](CallLine&) -> int {
    const CommunicatorPointer one = ready(handle);
    one->start([self = one.get()] { return self->finish(); });
    return answer(one);
  });
}

int ncclCommDestroy(ncclComm_t handle) {
  return nccl_call("ncclCommDestroy", {Field::address("comm", handle)}, [&](CallLine&) -> int {
    take(handle)->drain();
    return kNcclSuccess;
  });
}

/// The log says whether another thread was in a call of the communicator, which NCCL does not allow.
int ncclCommAbort(ncclComm_t handle) {
  return nccl_call("ncclCommAbort", {Field::address("comm", handle)}, [&](CallLine& line) -> int {
    const CommunicatorPointer one = take(handle);
    line.add(Field::count("others_inside", static_cast<uint64_t>(one->inside.load())));
    one->abort();
    return kNcclSuccess;
  });
}

int ncclCommGetAsyncError(ncclComm_t handle, int* out) {
  return nccl_call("ncclCommGetAsyncError", {Field::address("comm", handle)}, [&](CallLine& line) -> int {
    *out = communicator_of(handle)->state();
    line.add(Field::count("state", static_cast<uint64_t>(*out)));
    return kNcclSuccess;
  });
}

int ncclCommCount(const ncclComm_t handle, int* out) {
  return nccl_call("ncclCommCount", {},
                   [&](CallLine&) -> int { return *out = ready(handle)->size, kNcclSuccess; });
}
int ncclCommCuDevice(const ncclComm_t handle, int* out) {
  return nccl_call("ncclCommCuDevice", {},
                   [&](CallLine&) { return *out = ready(handle)->device, kNcclSuccess; });
}
int ncclCommUserRank(const ncclComm_t handle, int* out) {
  return nccl_call("ncclCommUserRank", {},
                   [&](CallLine&) { return *out = ready(handle)->rank, kNcclSuccess; });
}

int ncclCommRegister(const ncclComm_t handle, void* buffer, size_t size, void** out) {
  return nccl_call("ncclCommRegister", {Field::address("buffer", buffer), Field::count("size", size)},
                   [&](CallLine&) { return ready(handle), *out = buffer, kNcclSuccess; });
}
int ncclCommDeregister(const ncclComm_t handle, void* registered) {
  return nccl_call("ncclCommDeregister", {Field::address("handle", registered)},
                   [&](CallLine&) { return communicator_of(handle), kNcclSuccess; });
}

}  // namespace jitc::fakes
