// Memory as the API layer shares it: where an address lies, copies and fills on a stream.
//
// Used by memory.cpp, copy.cpp, collective.cpp, client_api.cpp.
#pragma once
#include "address_space.h"
#include "api/common/front.h"

namespace jitc::api {

/// The session's addresses (made on first use, never destroyed).
AddressSpace& addresses_of(Session& session);
/// The session in whose address range, or in whose device variable, the address lies; nullptr: host memory.
Session* device_owner(uint64_t address);
/// The address's session, when [address, address + bytes) lies in one allocation or variable; else nullptr.
Session* device_range(uint64_t address, uint64_t bytes, Block* block = nullptr);

Status allocate(Session& session, uint64_t bytes, uint64_t* address);
Status release(uint64_t address, uint64_t stream);

/// Host memory that device copies reach without the program waiting (pinned or registered).
bool is_pinned(uint64_t address, uint64_t bytes);
/// Pinned memory that the session's worker has mapped too.
bool is_shared(const Session& session, uint64_t address, uint64_t bytes);
bool pinned_flags(uint64_t address, uint32_t* flags);

/// One copy of count bytes, in stream order; what is host and what is device follows from the addresses.
/// wait: return only when the bytes are there.
Status copy(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait);
/// Waits for every copy to pinned memory that overlaps [address, address + bytes); bytes 0: for all.
Status settle_host_range(uint64_t address, uint64_t bytes);

}  // namespace jitc::api
