// Core dumps of a worker hold the worker's own state: users' data in it is left out.
//
// Called by: owners of memory mapped for users' data (devices, journals, copies, pinned memory, images).
// Promises: the mapping is in no core dump, and the kernel does not walk through it: a range of 2 TiB takes
// it minutes, in which the process counts as alive.
#pragma once
#include <sys/mman.h>

#include <cstddef>

namespace jitc {

inline void leave_out_of_dumps(void* mapping, size_t bytes) { madvise(mapping, bytes, MADV_DONTDUMP); }

}  // namespace jitc
