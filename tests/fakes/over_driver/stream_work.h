// Work of a fake library on a stream of the fake driver, as if it were a kernel. Used by the fake cuBLAS
// libraries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace jitc::fakes {

/// Queues the body on the stream, or adds it to the stream's capture. False: the driver refused it.
/// A body that touches memory which is not accessible makes the context unusable, as a kernel would.
bool put_on_stream(void* stream, std::function<void()> body);

/// For bodies: where the content of device or pinned memory lies.
std::byte* touch(uint64_t address, size_t bytes);

}  // namespace jitc::fakes
