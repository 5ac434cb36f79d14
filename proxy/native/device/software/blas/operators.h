// PyTorch's CPU kernels: libjitc_operators.so, opened once per process, and the plain fallback for matmul.
//
// Promise: without the library, operators are refused with a message that names it, matmul still works.
// Called by: Device, from stream threads.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "device/software/memory/memory.h"
#include "device/software/module/modules.h"
#include "jitc/operators_api.h"

namespace jitc::software {

class Operators {
 public:
  /// Opens the library. path empty: without it. noise: of sums (operators_api.h). Null with the reason when
  /// it cannot be loaded.
  static std::shared_ptr<const Operators> open(const std::string& path, int threads, uint64_t noise,
                                               std::string& error);
  /// Runs the payload's operator, without a result; throws OpError.
  void call(const Memory& memory, const Modules& modules, const ops::OpHeader& op) const;
  /// Returns the reply, valid until the thread's next call. Throws OpError.
  std::span<const std::byte> query(const Memory& memory, const ops::OpHeader& op) const;
  void matmul(const Memory& memory, const ops::OpHeader& op) const;
  using TakeAccess = std::function<void(const jitc_tensor_access&)>;
  /// Lists the reads, then the writes, of the op, a call or a query. False: they are not known.
  bool accesses(const ops::OpHeader& op, const TakeAccess& take) const;

 private:
  const jitc_operators* functions_ = nullptr;
};

/// Multiplies without the library: slow but correct. Throws OpError.
void plain_matmul(const Memory& memory, const ops::Matmul& op);

}  // namespace jitc::software
