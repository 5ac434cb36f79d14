// See collectives.h.
#include "collectives.h"

#include <algorithm>

namespace jitc::test {
using ops::CollectiveKind;
using ops::Reduction;

ops::CollectiveItem item(uint64_t comm, CollectiveKind kind, uint32_t dtype, uint64_t count, uint64_t send,
                         uint64_t receive, int peer) {
  ops::CollectiveItem result;
  result.comm = comm;
  result.kind = static_cast<uint32_t>(kind);
  result.dtype = dtype;
  result.count = count;
  result.send = send;
  result.receive = receive;
  result.peer = peer;
  return result;
}

uint64_t give_group(Client& client, const std::vector<ops::CollectiveItem>& items, uint64_t stream) {
  ops::Collective op;
  op.count = items.size();
  return client.give(op, stream, items.data(), items.size() * sizeof(ops::CollectiveItem));
}

std::string inject_in_collective(OpClient& client, const char* kind, const ops::CollectiveItem& item,
                                 uint64_t stream) {
  ops::Collective op;
  op.count = 1;
  return client.inject(kind, op, stream, std::as_bytes(std::span(&item, 1)));
}

namespace {
void expect_equal(const std::vector<std::byte>& got, const std::vector<std::byte>& wanted,
                  const std::string& what) {
  if (got == wanted) return;
  const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  throw Failure{what + ": first difference at byte " + std::to_string(at)};
}
}  // namespace

void check_one(Client& client, uint64_t comm, const Setup& setup) {
  const uint64_t send = client.upload(make_input(setup));
  const uint64_t receive = client.allocate(std::max<size_t>(1, output_bytes(setup)));
  ops::CollectiveItem op = item(comm, setup.kind, setup.dtype, setup.count, send, receive);
  op.reduction = static_cast<uint32_t>(setup.reduction);
  op.peer = setup.root;
  op.scale = 1.0 + setup.rank;
  give_group(client, {op});
  client.synchronize();
  expect_equal(client.download<std::byte>(receive, output_bytes(setup)), make_output(setup), describe(setup));
  for (const uint64_t address : {send, receive}) {
    ops::Free free;
    free.address = address;
    client.give(free);
  }
  client.backend->commit();
}

void check_all(Client& client, uint64_t comm, int ranks, int rank, const std::vector<uint32_t>& dtypes,
               const std::vector<uint64_t>& counts) {
  for (const uint32_t dtype : dtypes)
    for (const uint64_t count : counts) {
      for (uint32_t kind = 0; kind <= static_cast<uint32_t>(CollectiveKind::all_to_all); ++kind)
        check_one(client, comm,
                  {static_cast<CollectiveKind>(kind), dtype, Reduction::sum, ranks, rank, ranks - 1, count});
      for (uint32_t reduction = 1; reduction <= 5; ++reduction)
        for (const auto kind :
             {CollectiveKind::all_reduce, CollectiveKind::reduce, CollectiveKind::reduce_scatter})
          check_one(client, comm, {kind, dtype, static_cast<Reduction>(reduction), ranks, rank, 0, count});
    }
  CHECK(client.sink.faults().empty());
}

}  // namespace jitc::test
