// Collectives of any device: ops made and given, results compared with collective_reference.h.
#pragma once
#include <vector>

#include "client.h"
#include "collective_reference.h"

namespace jitc::test {

ops::CollectiveItem item(uint64_t comm, ops::CollectiveKind kind, uint32_t dtype, uint64_t count,
                         uint64_t send, uint64_t receive, int peer = -1);
uint64_t give_group(Client& client, const std::vector<ops::CollectiveItem>& items, uint64_t stream = 0);

/// Runs one collective on data that every rank can compute and compares with the reference.
void check_one(Client& client, uint64_t comm, const Setup& setup);
/// Every kind and reduction, for all types and counts.
void check_all(Client& client, uint64_t comm, int ranks, int rank, const std::vector<uint32_t>& dtypes,
               const std::vector<uint64_t>& counts);

}  // namespace jitc::test
