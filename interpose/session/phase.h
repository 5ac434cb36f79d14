// Phase of the calling thread in the training step: sent with every op.
//
// Called by: client_api.cpp (sets it), session_client.cpp (reads it, at every op).
#pragma once
#include "jitc/generated_ops.h"

namespace jitc::session {

/// Sets the phase for ops of the calling thread (client_api.h, jitc_set_phase).
void set_phase(ops::Phase phase);
/// Sets a function to call instead, at every op (jitc_set_phase_source).
void set_phase_source(int (*source)());
ops::Phase current_phase();

}  // namespace jitc::session
