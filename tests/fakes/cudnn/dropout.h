// Dropout as recurrent networks use it: a rate, and states in device memory that work reads and moves on.
// Used by dropout and rnn.
#pragma once
#include "call.h"

namespace jitc::fakes {

struct DropoutDescriptor : DnnObject {
  float rate = 0;
  uint64_t states = 0;
};

/// For work on a stream: what results are multiplied by. It comes of the states, which it moves on.
double next_dropout(float rate, uint64_t states);

}  // namespace jitc::fakes
