// Communicators: ops join, split and leave them; everything else is local.
//
// Promises: communicators are blocking (their creation waits for all ranks); an asynchronous error is
// reported only when the session itself is over, because jitc repairs faults below this layer.
#include "communicator.h"

#include <sys/random.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "api/common/handles.h"
#include "api/common/scalar.h"
#include "api/generated/generated_api.h"
#include "api/memory/memory.h"
#include "collective_group.h"
#include "session/environment.h"
#include "session/message.h"

namespace jitc::api {
namespace {

using Communicators = HandleTable<Communicator, Kind::comm>;
Communicators& communicators() {
  static auto& out = *new Communicators;
  return out;
}

constexpr int kNcclVersion = 22809;
constexpr int32_t kFirstOwnReduction = 5;
struct PremulSums {
  std::mutex mutex;
  std::map<int32_t, PremulSum> by_op;
  int32_t next = kFirstOwnReduction;
};
PremulSums& premul_sums() {
  static auto& out = *new PremulSums;
  return out;
}

double scalar_of(const void* from, int32_t dtype) {
  switch (dtype) {
    case kNcclI8:
      return read_as<int8_t>(from);
    case kNcclU8:
      return read_as<uint8_t>(from);
    case kNcclI32:
      return read_as<int32_t>(from);
    case kNcclU32:
      return read_as<uint32_t>(from);
    case kNcclI64:
      return read_as<int64_t>(from);
    case kNcclU64:
      return read_as<uint64_t>(from);
    case kNcclF16:
      return half_to_double(static_cast<uint16_t>(read_as<uint16_t>(from)));
    case kNcclF32:
      return read_as<float>(from);
    case kNcclF64:
      return read_as<double>(from);
    default:
      return bfloat16_to_double(static_cast<uint16_t>(read_as<uint16_t>(from)));
  }
}

/// Returns a join's status. Reports the reason for a refusal to the user, and to ncclGetLastError.
Status reported(const char* function, const session::Result& result) {
  if (result.status && !result.payload.empty()) {
    const std::string why(reinterpret_cast<const char*>(result.payload.data()), result.payload.size());
    session::set_last_message(std::string(function) + ": " + why + session::advice_for_restarts(why));
    session::message_once(session::last_message());
  }
  return to_nccl(from_result(result.status));
}

/// Joins on the device; the program gets the handle once all ranks have joined.
Status join(uint64_t* comm, int32_t ranks, const UniqueId& id, int32_t rank, int device) {
  Status status = kSuccess;
  Session* session = session_of(device, &status);
  if (!session) return to_nccl(status);
  if (visible_gpu(device)->runs_kernels) session->name_late_variables();
  ops::CommunicatorCreate op;
  op.handle = communicators().add({session, device, ranks, rank});
  op.ranks = ranks;
  op.rank = rank;
  std::memcpy(op.unique_id.data(), id.bytes, sizeof id.bytes);
  const session::Result result = session->call(op);
  Communicator gone;
  if (result.status) communicators().remove(op.handle, &gone);
  *comm = result.status ? 0 : op.handle;
  return reported("ncclCommInitRank", result);
}

Status start_join(uint64_t* comm, int32_t ranks, const UniqueId& id, int32_t rank, int device) {
  if (!comm || ranks < 1 || rank < 0 || rank >= ranks) return kNcclInvalidArgument;
  *comm = 0;
  return join_or_collect([=] { return join(comm, ranks, id, rank, device); });
}

const char* const kResultText[] = {"no error",
                                   "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                   "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                   "internal error - please report this issue to the NCCL developers",
                                   "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                   "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};

}  // namespace

bool find_communicator(uint64_t comm, Communicator* out) { return communicators().get(comm, out); }
Status to_nccl(Status cuda) {
  if (cuda == kSuccess) return kSuccess;
  if (cuda == kExternalDevice) return kNcclRemoteError;
  return cuda == kInvalidValue || cuda == kInvalidResourceHandle ? kNcclInvalidArgument
                                                                 : kNcclUnhandledCudaError;
}
bool find_premul_sum(int32_t op, PremulSum* out) {
  PremulSums& all = premul_sums();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_op.find(op);
  if (found == all.by_op.end()) return false;
  *out = found->second;
  return true;
}

int32_t ncclGetVersion(int32_t* version) {
  if (!version) return kNcclInvalidArgument;
  *version = kNcclVersion;
  return kSuccess;
}
const char* ncclGetErrorString(int32_t result) {
  return result >= 0 && result < 8 ? kResultText[result] : "unknown result code";
}
const char* ncclGetLastError(uint64_t) { return session::last_message(); }
void ncclResetDebugInit() {}

int32_t ncclGetUniqueId(UniqueId* id) {
  if (!id) return kNcclInvalidArgument;
  for (size_t done = 0; done < sizeof id->bytes;) {
    const ssize_t got = getrandom(id->bytes + done, sizeof id->bytes - done, 0);
    if (got < 0) return kNcclSystemError;
    done += static_cast<size_t>(got);
  }
  return kSuccess;
}

int32_t ncclCommInitRank(uint64_t* comm, int32_t ranks, UniqueId id, int32_t rank) {
  return start_join(comm, ranks, id, rank, current_device());
}
// A program that asks for a non-blocking communicator may get a blocking one; everything else in a config is
// a hint for performance.
int32_t ncclCommInitRankConfig(uint64_t* comm, int32_t ranks, UniqueId id, int32_t rank, void*) {
  return start_join(comm, ranks, id, rank, current_device());
}
int32_t ncclCommInitRankScalable(uint64_t* comm, int32_t ranks, int32_t rank, int32_t count, UniqueId* ids,
                                 void*) {
  return count < 1 || !ids ? kNcclInvalidArgument : start_join(comm, ranks, ids[0], rank, current_device());
}
int32_t ncclCommInitAll(uint64_t* comms, int32_t count, const int32_t* devices) {
  if (!comms || count < 1) return kNcclInvalidArgument;
  UniqueId id;
  if (const Status status = ncclGetUniqueId(&id)) return status;
  if (const Status status = ncclGroupStart()) return status;
  Status first = kSuccess;
  for (int32_t rank = 0; rank < count && !first; ++rank)
    first = start_join(comms + rank, count, id, rank, devices ? devices[rank] : rank);
  const Status end = ncclGroupEnd();
  return first ? first : end;
}

int32_t ncclCommSplit(uint64_t comm, int32_t color, int32_t key, uint64_t* new_comm, void*) {
  Communicator parent;
  if (!new_comm || !communicators().get(comm, &parent)) return kNcclInvalidArgument;
  *new_comm = 0;
  return join_or_collect([=] {
    ops::CommunicatorSplit op;
    op.parent = comm;
    op.handle = communicators().add(parent);
    op.color = color;
    op.key = key;
    const session::Result result = parent.session->call(op);
    std::array<int32_t, 2> numbers{};  // ranks, rank
    const bool joined = !result.status && color >= 0 && result.payload.size() >= sizeof numbers;
    if (!joined) {
      Communicator gone;
      communicators().remove(op.handle, &gone);
      return reported("ncclCommSplit", result);
    }
    std::memcpy(numbers.data(), result.payload.data(), sizeof numbers);
    communicators().update(op.handle, [&](Communicator& c) { c.ranks = numbers[0], c.rank = numbers[1]; });
    *new_comm = op.handle;
    return kSuccess;
  });
}

int32_t ncclCommFinalize(uint64_t comm) {
  return communicators().contains(comm) ? kSuccess : kNcclInvalidArgument;
}
// A session that is over has no communicator left, so both calls succeed.
int32_t ncclCommDestroy(uint64_t comm) {
  if (!comm) return kSuccess;
  Communicator gone;
  if (!communicators().remove(comm, &gone)) return kNcclInvalidArgument;
  ops::CommunicatorDestroy op;
  op.handle = comm;
  (void)gone.session->submit(op);
  return kSuccess;
}
// Returns when the outcome of the aborted work is known, so that none of it is in flight then.
int32_t ncclCommAbort(uint64_t comm) {
  if (!comm) return kSuccess;
  Communicator gone;
  if (!communicators().remove(comm, &gone)) return kNcclInvalidArgument;
  ops::CommunicatorAbort op;
  op.handle = comm;
  (void)gone.session->call(op);
  return kSuccess;
}

int32_t ncclCommGetAsyncError(uint64_t comm, int32_t* error) {
  Communicator found;
  if (!error || !communicators().get(comm, &found)) return kNcclInvalidArgument;
  *error = to_nccl(from_result(found.session->status()));
  return kSuccess;
}
int32_t ncclCommCount(uint64_t comm, int32_t* count) {
  Communicator found;
  if (!count || !communicators().get(comm, &found)) return kNcclInvalidArgument;
  *count = found.ranks;
  return kSuccess;
}
int32_t ncclCommCuDevice(uint64_t comm, int32_t* device) {
  Communicator found;
  if (!device || !communicators().get(comm, &found)) return kNcclInvalidArgument;
  *device = found.device;
  return kSuccess;
}
int32_t ncclCommUserRank(uint64_t comm, int32_t* rank) {
  Communicator found;
  if (!rank || !communicators().get(comm, &found)) return kNcclInvalidArgument;
  *rank = found.rank;
  return kSuccess;
}

// Registration only makes copies faster, and would have to be repeated after a fault.
int32_t ncclCommRegister(uint64_t comm, uint64_t buffer, size_t, uint64_t* registration) {
  if (!registration || !communicators().contains(comm)) return kNcclInvalidArgument;
  *registration = buffer;
  return kSuccess;
}
int32_t ncclCommDeregister(uint64_t comm, uint64_t) {
  return communicators().contains(comm) ? kSuccess : kNcclInvalidArgument;
}
int32_t ncclMemAlloc(uint64_t* address, size_t bytes) { return to_nccl(cudaMalloc(address, bytes)); }
int32_t ncclMemFree(uint64_t address) { return to_nccl(cudaFree(address)); }

int32_t ncclRedOpCreatePreMulSum(int32_t* op, const void* scalar, int32_t dtype, int32_t residence,
                                 uint64_t comm) {
  constexpr int32_t kOnDevice = 0, kOnHost = 1;
  if (!op || !scalar || dtype < 0 || dtype >= kNcclF8E4M3 ||  // no factors of 8-bit floats
      !communicators().contains(comm))
    return kNcclInvalidArgument;
  PremulSum made;
  if (residence == kOnHost) {
    made.scale = scalar_of(scalar, dtype);
  } else if (residence == kOnDevice && device_range(reinterpret_cast<uint64_t>(scalar), 1)) {
    made.scale_address = reinterpret_cast<uint64_t>(scalar);
  } else {
    return kNcclInvalidArgument;
  }
  PremulSums& all = premul_sums();
  std::lock_guard lock(all.mutex);
  *op = all.next++;
  all.by_op[*op] = made;
  return kSuccess;
}
int32_t ncclRedOpDestroy(int32_t op, uint64_t) {
  PremulSums& all = premul_sums();
  std::lock_guard lock(all.mutex);
  return all.by_op.erase(op) ? kSuccess : kNcclInvalidArgument;
}

}  // namespace jitc::api
