// Collectives and groups: each call becomes one item; what one group holds for a stream is one op.
//
// Promises: arguments are checked here, so that a wrong one fails its call and not the device; groups
// nest and belong to the calling thread.
#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "communicator.h"
#include "memory.h"

namespace jitc::front {
namespace {

constexpr uint64_t kTypeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};  // by ncclDataType_t, without fp8
constexpr int32_t kTypes = std::size(kTypeBytes);
constexpr int32_t kAverage = 4;

struct StreamItems {
  Session* session;
  uint64_t stream;
  std::vector<ops::CollectiveItem> items;
};
struct Group {
  int depth = 0;
  Status first_error = kSuccess;
  std::vector<StreamItems> streams;  // in order of first use
  std::vector<std::function<Status()>> joins;
};
thread_local Group group;

Status submit_items(Session* session, uint64_t stream, const std::vector<ops::CollectiveItem>& items) {
  auto op = on_stream<ops::Collective>(stream);
  op.count = items.size();
  return to_nccl(submitted(*session, session->submit(op, std::as_bytes(std::span(items)))));
}

/// All at once: every join waits for the others, and those of one group may belong to one communicator.
Status run_joins(const std::vector<std::function<Status()>>& joins) {
  if (joins.size() == 1) return joins.front()();
  std::vector<Status> results(joins.size(), kNcclInternalError);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < joins.size(); ++i) threads.emplace_back([&, i] { results[i] = joins[i](); });
  for (auto& thread : threads) thread.join();
  const auto failed = std::find_if(results.begin(), results.end(), [](Status s) { return s != kSuccess; });
  return failed == results.end() ? kSuccess : *failed;
}

Status noted(Status status) {
  if (group.depth && status && !group.first_error) group.first_error = status;
  return status;
}

struct Call {
  ops::CollectiveKind kind;
  uint64_t send, receive, count;
  int32_t dtype, reduction, peer;
  uint64_t comm, stream;
};

/// Elements read and written by the call of this rank.
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

Status checked(const Call& call, Communicator* comm, ops::CollectiveItem* item) {
  if (!find_communicator(call.comm, comm) || call.dtype < 0 || call.dtype >= kTypes)
    return kNcclInvalidArgument;
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
  if (const Status status = checked(call, &comm, &item)) return noted(status);
  if (!call.count) return kSuccess;  // on every rank alike
  StreamRef stream{comm.session, 0, comm.device};
  if (call.stream > 2) {  // 0, 1, 2: the default stream of the communicator's device
    if (const Status status = resolve_stream(call.stream, &stream)) return noted(to_nccl(status));
    if (stream.session != comm.session) return noted(kNcclInvalidArgument);
  }
  return noted(submit_or_collect(comm.session, stream.id, item));
}

using K = ops::CollectiveKind;

/// Gather and scatter are sends and receives in one group.
template <class Body>
Status grouped(Body&& body) {
  ncclGroupStart();
  const Status status = body();
  const Status end = ncclGroupEnd();
  return status ? status : end;
}

}  // namespace

Status submit_or_collect(Session* session, uint64_t stream, const ops::CollectiveItem& item) {
  if (!group.depth) return submit_items(session, stream, {item});
  for (auto& one : group.streams) {
    if (one.session != session || one.stream != stream) continue;
    one.items.push_back(item);
    return kSuccess;
  }
  group.streams.push_back({session, stream, {item}});
  return kSuccess;
}
Status join_or_collect(std::function<Status()> join) {
  if (!group.depth) return join();
  group.joins.push_back(std::move(join));
  return kSuccess;
}

int32_t ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}
int32_t ncclGroupEnd() {
  if (!group.depth) return kNcclInvalidUsage;
  if (--group.depth) return kSuccess;
  const Group whole = std::exchange(group, {});
  if (whole.first_error) return whole.first_error;  // as NCCL does: nothing of a wrong group is started
  if (!whole.joins.empty())
    if (const Status status = run_joins(whole.joins)) return status;
  Status first = kSuccess;
  for (const auto& one : whole.streams) {
    const Status status = submit_items(one.session, one.stream, one.items);
    if (!first) first = status;
  }
  return first;
}

int32_t ncclAllReduce(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction,
                      uint64_t comm, uint64_t stream) {
  return issue({K::all_reduce, send, receive, count, dtype, reduction, -1, comm, stream});
}
int32_t ncclReduce(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction,
                   int32_t root, uint64_t comm, uint64_t stream) {
  if (root < 0) return noted(kNcclInvalidArgument);
  return issue({K::reduce, send, receive, count, dtype, reduction, root, comm, stream});
}
int32_t ncclReduceScatter(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t reduction,
                          uint64_t comm, uint64_t stream) {
  return issue({K::reduce_scatter, send, receive, count, dtype, reduction, -1, comm, stream});
}
int32_t ncclBroadcast(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root,
                      uint64_t comm, uint64_t stream) {
  if (root < 0) return noted(kNcclInvalidArgument);
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
  if (peer < 0) return noted(kNcclInvalidArgument);
  return issue({K::send, send, 0, count, dtype, 0, peer, comm, stream});
}
int32_t ncclRecv(uint64_t receive, size_t count, int32_t dtype, int32_t peer, uint64_t comm,
                 uint64_t stream) {
  if (peer < 0) return noted(kNcclInvalidArgument);
  return issue({K::receive, 0, receive, count, dtype, 0, peer, comm, stream});
}

int32_t ncclGather(uint64_t send, uint64_t receive, size_t count, int32_t dtype, int32_t root, uint64_t comm,
                   uint64_t stream) {
  Communicator found;
  if (!find_communicator(comm, &found) || dtype < 0 || dtype >= kTypes) return noted(kNcclInvalidArgument);
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
  if (!find_communicator(comm, &found) || dtype < 0 || dtype >= kTypes) return noted(kNcclInvalidArgument);
  return grouped([&] {
    Status status = kSuccess;
    for (int32_t to = 0; !status && root == found.rank && to < found.ranks; ++to)
      status = ncclSend(send + static_cast<uint64_t>(to) * count * kTypeBytes[dtype], count, dtype, to, comm,
                        stream);
    return status ? status : ncclRecv(receive, count, dtype, root, comm, stream);
  });
}

}  // namespace jitc::front
