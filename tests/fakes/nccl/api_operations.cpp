// The exported functions of the fake NCCL: groups, collectives, messages, operations of one's own.
#include "api.h"
#include "functions.h"
#include "group.h"
#include "reduce.h"

namespace jitc::fakes {
namespace {
/// The operation with what of the communicator belongs to it. Throws kNcclInvalidArgument.
Operation checked(Communicator& communicator, Operation operation) {
  const bool reduces = operation.kind == Operation::all_reduce || operation.kind == Operation::reduce ||
                       operation.kind == Operation::reduce_scatter;
  const bool peer = operation.peer >= 0 && operation.peer < communicator.size;
  const bool type = size_of(operation.type) && (!reduces || reducible(operation.type));
  operation.own = communicator.own_op(operation.op);
  const bool op = operation.own || (operation.op >= kSum && operation.op < kFirstOwnOp);
  if (!peer || !type || !op) throw NcclFailure{kNcclInvalidArgument};
  return operation;
}

/// Counts the calls of a communicator under way, for ncclCommAbort's log line.
struct Inside {
  explicit Inside(const CommunicatorPointer& one) : communicator(one) { ++communicator->inside; }
  ~Inside() { --communicator->inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  const CommunicatorPointer communicator;
};

int submit(const char* name, const Operation& operation, ncclComm_t handle, void* stream) {
  Group& group = Group::of_thread();
  const int result = nccl_call(name,
                               {Field::address("from", operation.from), Field::address("to", operation.to),
                                Field::count("count", operation.count), Field::real("type", operation.type),
                                Field::real("op", operation.op), Field::real("peer", operation.peer),
                                Field::address("comm", handle), Field::address("stream", stream)},
                               [&](CallLine&) -> int {
                                 const CommunicatorPointer communicator = ready(handle);
                                 const Inside inside(communicator);
                                 const Operation one = checked(*communicator, operation);
                                 group.start();
                                 group.add(communicator, stream, one);
                                 return group.end();
                               });
  if (result && result != kNcclInProgress && group.open()) group.fail(result);
  return result;
}
}  // namespace

int ncclGroupStart() {
  return nccl_call("ncclGroupStart", {}, [](CallLine&) { return Group::of_thread().start(), kNcclSuccess; });
}
int ncclGroupEnd() {
  return nccl_call("ncclGroupEnd", {}, [](CallLine&) { return Group::of_thread().end(); });
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, ncclComm_t comm,
                  cudaStream_t stream) {
  return submit("ncclAllReduce", {Operation::all_reduce, from, to, count, type, op}, comm, stream);
}
int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, ncclComm_t comm,
               cudaStream_t stream) {
  return submit("ncclReduce", {Operation::reduce, from, to, count, type, op, root}, comm, stream);
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm_t comm,
                  cudaStream_t stream) {
  return submit("ncclBroadcast", {Operation::broadcast, from, to, count, type, kSum, root}, comm, stream);
}
int ncclBcast(void* buffer, size_t count, int type, int root, ncclComm_t comm, cudaStream_t stream) {
  return submit("ncclBcast", {Operation::broadcast, buffer, buffer, count, type, kSum, root}, comm, stream);
}
int ncclAllGather(const void* from, void* to, size_t count, int type, ncclComm_t comm, cudaStream_t stream) {
  return submit("ncclAllGather", {Operation::all_gather, from, to, count, type}, comm, stream);
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, ncclComm_t comm,
                      cudaStream_t stream) {
  return submit("ncclReduceScatter", {Operation::reduce_scatter, from, to, count, type, op}, comm, stream);
}
int ncclSend(const void* from, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit("ncclSend", {Operation::send, from, nullptr, count, type, kSum, peer}, comm, stream);
}
int ncclRecv(void* to, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit("ncclRecv", {Operation::receive, nullptr, to, count, type, kSum, peer}, comm, stream);
}

int ncclRedOpCreatePreMulSum(int* out, void* scalar, int type, int residence, ncclComm_t handle) {
  return nccl_call(
      "ncclRedOpCreatePreMulSum",
      {Field::address("scalar", scalar), Field::real("type", type), Field::real("residence", residence)},
      [&](CallLine& line) -> int {
        const CommunicatorPointer one = ready(handle);
        if (!out || !scalar || !reducible(type)) return kNcclInvalidArgument;
        *out = one->add_op(type, residence == 0, scalar);
        line.add(Field::real("out", *out));
        return kNcclSuccess;
      });
}
int ncclRedOpDestroy(int op, ncclComm_t handle) {
  return nccl_call("ncclRedOpDestroy", {Field::real("op", op)}, [&](CallLine&) -> int {
    return communicator_of(handle)->remove_op(op) ? kNcclSuccess : kNcclInvalidArgument;
  });
}

}  // namespace jitc::fakes
