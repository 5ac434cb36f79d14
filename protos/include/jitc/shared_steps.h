// Optimizer steps in which several threads of a program take part.
//
// The client sets the flag, from what it alone knows; the worker reads it (shares_step of journal/wire.h).
#pragma once
#include <cstdint>

namespace jitc::ops {

/// Bit of OpHeader::flags. Of step_begin: the first step of the process was another thread's. Of other ops:
/// another thread submitted it during an optimizer step.
inline constexpr uint16_t kFlagOtherThread = 1 << 3;

}  // namespace jitc::ops
