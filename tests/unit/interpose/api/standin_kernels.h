// What the fake session layer answers about module images, kernels, variables and graphs: told by the test.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "session/session.h"

class FakeKernels {
 public:
  using Memory = std::map<uint64_t, std::vector<std::byte>>;
  /// The answer to an op of these families; false: the op is of another kind.
  bool answer(const std::vector<std::byte>& record, Memory& memory, jitc::session::Result& out);
};
