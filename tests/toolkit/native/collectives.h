// Collectives of any device: ops made and given, results compared with collective_reference.h.
#pragma once
#include <vector>

#include "collective_reference.h"
#include "op_client.h"

namespace jitc::test {

ops::CollectiveItem item(uint64_t comm, ops::CollectiveKind kind, uint32_t dtype, uint64_t count,
                         uint64_t send, uint64_t receive, int peer = -1);
uint64_t give_group(Client& client, const std::vector<ops::CollectiveItem>& items, uint64_t stream = 0);
/// The fault comes at the collective that is given next.
std::string inject_in_collective(OpClient& client, const char* kind, const ops::CollectiveItem& item,
                                 uint64_t stream = 0);

/// Runs one collective on data that every rank can compute and compares with the reference.
void check_one(Client& client, uint64_t comm, const Setup& setup);
/// Every kind and reduction, for all types and counts.
void check_all(Client& client, uint64_t comm, int ranks, int rank, const std::vector<uint32_t>& dtypes,
               const std::vector<uint64_t>& counts);

}  // namespace jitc::test
