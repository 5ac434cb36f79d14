// The phase of the training step in which the calling thread is: it goes with every op.
//
// Called by: client_api.cpp (sets it), session_client.cpp (reads it, at every op).
#pragma once
#include "jitc/generated_ops.h"

namespace jitc::session {

/// Phase for ops of the calling thread (client_api.h, jitc_set_phase).
void set_phase(ops::Phase phase);
/// A function to ask instead, at every op (jitc_set_phase_source).
void set_phase_source(int (*source)());
ops::Phase current_phase();

}  // namespace jitc::session
