// Copies and fills on the software device. Called by: Device, from stream threads.
// Promises: every range is validated before a byte is touched; half-way through each copy the sink's
// injection point "copy" is passed. All throw OpError.
#pragma once
#include <span>

#include "base/hash.h"
#include "device/backend_options.h"
#include "device/sink.h"
#include "jitc/generated_ops.h"
#include "memory.h"

namespace jitc::software {

/// Returns the host pointer of an operand, or throws OpError 700 that names it. No bytes: any address, null.
std::byte* operand(const Memory& memory, const ops::OpHeader& op, const char* name, uint64_t address,
                   uint64_t bytes);

/// Copies into the program's memory, unless the program has it already; returns the hash of the bytes read.
Hash copy_d2h_pinned(const Memory&, const PinnedRange&, ExecutionSink&, const ops::CopyD2hPinned&);
void copy_h2d(const Memory&, ExecutionSink&, const ops::CopyH2d&);
std::span<const std::byte> copy_d2h(const Memory&, ExecutionSink&,
                                    const ops::CopyD2h&);  // valid until the next call
void copy_d2d(const Memory&, ExecutionSink&, const ops::CopyD2d&);
void copy_2d(const Memory&, ExecutionSink&, const ops::Copy2d&);
void copy_3d(const Memory&, ExecutionSink&, const ops::Copy3d&);
void fill(const Memory&, const ops::Fill&);

}  // namespace jitc::software
