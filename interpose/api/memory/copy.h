// Copies of the program, in all forms.
//
// Used by the functions of copy.cpp and by calls that copy as a part of their work (symbols, cuBLAS results).
#pragma once
#include "api/stream/stream.h"

namespace jitc::api {

/// Copies count bytes in stream order, from and to host or device memory.
/// wait: return only when the bytes have arrived.
Status copy(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait);

}  // namespace jitc::api
