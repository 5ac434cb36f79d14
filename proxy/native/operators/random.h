// Random numbers that depend only on the (seed, offset) of a call, so that a replay repeats them.
//
// Called by: decode.cpp, run.cpp.
#pragma once
#include <ATen/core/Generator.h>

#include <cstdint>
#include <mutex>
#include <optional>

namespace jitc::operators {

at::Generator make_generator(uint64_t seed, uint64_t offset);

/// Ownership of PyTorch's default CPU generator by this call (operators without a generator argument, such as
/// native_dropout, use it). One call at a time.
class DefaultGenerator {
 public:
  DefaultGenerator(uint64_t seed, uint64_t offset);

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace jitc::operators
