// A handle of the fake cuDNN: the stream that its work runs on. Used by everything that computes.
#pragma once
#include <functional>

#include "call.h"

namespace jitc::fakes {

struct DnnHandle : DnnObject {
  void* stream = nullptr;
};

/// Queues work on the handle's stream; the log line has the stream. Throws kDnnExecutionFailed.
void submit(CallLine& line, const DnnHandle& handle, std::function<void()> body);

/// For work on a stream: marks a workspace, which is the library's own while the work runs.
void use_workspace(uint64_t address, size_t size);

/// For work on a stream: the context is unusable from now on, as after a kernel that failed.
void fail_launch();

inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace jitc::fakes
