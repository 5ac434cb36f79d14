// Collectives: each call becomes an item of a collective op; collective_group.cpp has groups.
//
// Promise: arguments are checked here, so that a wrong one fails the call and not the device.
#include <iterator>
#include <string>

#include "api/generated/generated_api.h"
#include "api/memory/memory.h"
#include "api/stream/stream.h"
#include "collective_group.h"
#include "communicator.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr uint64_t kTypeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // by ncclDataType_t
static_assert(std::size(kTypeBytes) == kNcclTypes);
constexpr int32_t kAverage = 4;

struct Call {
  ops::CollectiveKind kind;
  uint64_t send, receive, count;
  int32_t dtype, reduction, peer;
  uint64_t comm, stream;
};

/// Counts the elements that this rank's call reads and writes.
void extents(const Call& call, const Communicator& comm, uint64_t* read, uint64_t* written) {
  using Kind = ops::CollectiveKind;
  const auto ranks = static_cast<uint64_t>(comm.ranks);
  const bool root = call.peer == comm.rank;
  *read = *written = call.count;
  switch (call.kind) {
    case Kind::all_reduce:
      break;
    case Kind::broadcast:
      *read = root ? call.count : 0;
      break;
    case Kind::reduce:
      *written = root ? call.count : 0;
      break;
    case Kind::all_gather:
      *written = call.count * ranks;
      break;
    case Kind::reduce_scatter:
      *read = call.count * ranks;
      break;
    case Kind::all_to_all:
      *read = *written = call.count * ranks;
      break;
    case Kind::send:
      *written = 0;
      break;
    case Kind::receive:
      *read = 0;
      break;
  }
}

bool reduces(ops::CollectiveKind kind) {
  using Kind = ops::CollectiveKind;
  return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

Status fill_reduction(int32_t reduction, ops::CollectiveItem* item) {
  if (reduction >= 0 && reduction <= kAverage) {
    item->reduction = static_cast<uint32_t>(reduction);
    return kSuccess;
  }
  PremulSum own;
  if (!find_premul_sum(reduction, &own)) return kNcclInvalidArgument;
  item->reduction = static_cast<uint32_t>(ops::Reduction::premul_sum);
  item->scale = own.scale;
  item->scale_address = own.scale_address;
  return kSuccess;
}

/// Reports the reason on standard error once, and to ncclGetLastError.
Status refused(const char* reason) {
  session::set_last_message(std::string("NCCL: ") + reason);
  session::message_once(session::last_message());
  return kNcclInvalidArgument;
}

Status checked(const Call& call, Communicator* comm, ops::CollectiveItem* item) {
  if (!find_communicator(call.comm, comm) || call.dtype < 0 || call.dtype >= kNcclTypes)
    return kNcclInvalidArgument;
  // The software device moves 8-bit floats, but does not add them.
  if (call.dtype >= kNcclF8E4M3 && reduces(call.kind) && !visible_gpu(comm->device)->runs_kernels)
    return refused("the software device does not reduce 8-bit floats: reduce them in another type");
  const bool rooted = call.peer >= 0;
  if (rooted ? call.peer >= comm->ranks : call.peer != -1) return kNcclInvalidArgument;
  uint64_t read = 0, written = 0;
  extents(call, *comm, &read, &written);
  const uint64_t width = kTypeBytes[call.dtype];
  if (read && device_range(call.send, read * width) != comm->session) return kNcclInvalidArgument;
  if (written && device_range(call.receive, written * width) != comm->session) return kNcclInvalidArgument;
  item->comm = call.comm;
  item->kind = static_cast<uint32_t>(call.kind);
  item->dtype = static_cast<uint32_t>(call.dtype);
  item->peer = call.peer;
  item->count = call.count;
  item->send = read ? call.send : 0;
  item->receive = written ? call.receive : 0;
  return fill_reduction(call.reduction, item);
}

Status issue(const Call& call) {
  Communicator comm;
  ops::CollectiveItem item;
  if (const Status status = checked(call, &comm, &item)) return note_error(status);
  if (!call.count) return kSuccess;  // it is the same on every rank
  StreamRef stream{comm.session, 0, comm.device};
  if (!is_default_stream(call.stream)) {  // else the communicator's device
    if (const Status status = resolve_stream(call.stream, &stream)) return note_error(to_nccl(status));
    if (stream.session != comm.session) return note_error(kNcclInvalidArgument);
  }
  return note_error(submit_or_collect(comm.session, stream.id, item));
}

using K = ops::CollectiveKind;

/// Runs gather and scatter as sends and receives in one group.
template <class Body>
Status grouped(Body&& body) {
  ncclGroupStart();
  const Status status = body();
  const Status end = ncclGroupEnd();
  return status ? status : end;
}

}  // namespace

int32_t ncclAllReduce(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction,
                      uint64_t comm, uint64_t stream) {
  return issue({K::all_reduce, send, receive, count, dtype, reduction, -1, comm, stream});
}
int32_t ncclReduce(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction,
                   int32_t root, uint64_t comm, uint64_t stream) {
  if (root < 0) return note_error(kNcclInvalidArgument);
  return issue({K::reduce, send, receive, count, dtype, reduction, root, comm, stream});
}
int32_t ncclReduceScatter(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction,
                          uint64_t comm, uint64_t stream) {
  return issue({K::reduce_scatter, send, receive, count, dtype, reduction, -1, comm, stream});
}
int32_t ncclBroadcast(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root,
                      uint64_t comm, uint64_t stream) {
  if (root < 0) return note_error(kNcclInvalidArgument);
  return issue({K::broadcast, send, receive, count, dtype, 0, root, comm, stream});
}
int32_t ncclBcast(uint64_t buffer, size_t count, int32_t dtype, int32_t root, uint64_t comm,
                  uint64_t stream) {
  return ncclBroadcast(buffer, buffer, count, dtype, root, comm, stream);
}
int32_t ncclAllGather(uint64_t send, uint64_t receive, size_t count, int32_t dtype, uint64_t comm,
                      uint64_t stream) {
  return issue({K::all_gather, send, receive, count, dtype, 0, -1, comm, stream});
}
int32_t ncclAlltoAll(uint64_t send, uint64_t receive, size_t count, int32_t dtype, uint64_t comm,
                     uint64_t stream) {
  return issue({K::all_to_all, send, receive, count, dtype, 0, -1, comm, stream});
}
int32_t ncclSend(uint64_t send, size_t count, int32_t dtype, int32_t peer, uint64_t comm, uint64_t stream) {
  if (peer < 0) return note_error(kNcclInvalidArgument);
  return issue({K::send, send, 0, count, dtype, 0, peer, comm, stream});
}
int32_t ncclRecv(uint64_t receive, size_t count, int32_t dtype, int32_t peer, uint64_t comm,
                 uint64_t stream) {
  if (peer < 0) return note_error(kNcclInvalidArgument);
  return issue({K::receive, 0, receive, count, dtype, 0, peer, comm, stream});
}

int32_t ncclGather(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root, uint64_t comm,
                   uint64_t stream) {
  Communicator found;
  if (!find_communicator(comm, &found) || dtype < 0 || dtype >= kNcclTypes)
    return note_error(kNcclInvalidArgument);
  return grouped([&] {
    Status status = ncclSend(send, count, dtype, root, comm, stream);
    for (int32_t from = 0; !status && root == found.rank && from < found.ranks; ++from)
      status = ncclRecv(receive + static_cast<uint64_t>(from) * count * kTypeBytes[dtype], count, dtype, from,
                        comm, stream);
    return status;
  });
}
int32_t ncclScatter(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root, uint64_t comm,
                    uint64_t stream) {
  Communicator found;
  if (!find_communicator(comm, &found) || dtype < 0 || dtype >= kNcclTypes)
    return note_error(kNcclInvalidArgument);
  return grouped([&] {
    Status status = kSuccess;
    for (int32_t to = 0; !status && root == found.rank && to < found.ranks; ++to)
      status = ncclSend(send + static_cast<uint64_t>(to) * count * kTypeBytes[dtype], count, dtype, to, comm,
                        stream);
    return status ? status : ncclRecv(receive, count, dtype, root, comm, stream);
  });
}

}  // namespace jitc::api
