// Copies between host memory and one GPU, on a stream of it.
//
// Used by copy.cpp, which distinguishes host from device memory, and by host_memory.cpp. Promises: bytes of a
// host-to-device copy are read during the call, except for larger copies from memory that the worker shares,
// which it reads when the op arrives. A device-to-host copy waits only on request; wait_for_host_copies waits
// for those that did not.
#pragma once
#include "api/stream/stream.h"
#include "host_memory.h"
#include "jitc/element_type.h"

namespace jitc::api {

/// Sets the type of the calling thread's copies to the host from now on. Numbers that are read in one piece
/// go through the journal, where a replay can compare them, and not straight into pinned memory.
void set_element_type(jitc_element_type type);

inline constexpr uint64_t kPiece = 1u << 20;  // a copy op carries at most this much

/// Copies to the host. wait: the bytes have arrived on return.
Status copy_d2h(const HostRange& destination, uint64_t source, const StreamRef& stream, bool wait);
/// Copies to the device. wait: as a cudaMemcpy that is not asynchronous. From pageable memory it waits for
/// the stream's earlier work, from pinned memory until the copy is done.
Status copy_h2d(uint64_t destination, const HostRange& source, const StreamRef& stream, bool wait);
/// Waits for every copy to pinned memory that overlaps [address, address + bytes); bytes 0: for all. asked:
/// CUDA would wait here too.
Status wait_for_host_copies(uint64_t address, uint64_t bytes, bool asked = true);

}  // namespace jitc::api
