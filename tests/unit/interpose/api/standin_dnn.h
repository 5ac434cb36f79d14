// What the fake session layer answers where cuDNN is asked or tried: told by the test.
#pragma once
#include <vector>

#include "session/session.h"

namespace fake_dnn {

/// The answer to an op that waits for cuDNN's status; false: the op is another.
bool answer(const std::vector<std::byte>& record, jitc::session::Result& out);

}  // namespace fake_dnn
