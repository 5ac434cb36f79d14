// What a rank gives its communicator to do.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "abi.h"

namespace jitc::fakes {

/// An operation that multiplies before it adds (ncclRedOpCreatePreMulSum). A scalar on the device is read by
/// the work.
struct OwnOp {
  int type;
  bool on_device;
  const void* address;
  std::vector<std::byte> value;
};

struct Operation {
  enum Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, receive };
  Kind kind;
  const void* from;
  void* to;
  size_t count;
  int type;
  int op = kSum;
  int peer = 0;  // or root
  std::shared_ptr<const OwnOp> own = {};
};

}  // namespace jitc::fakes
