// Step boundaries: tracks which memory is live, and in which phase a thread is.
//
// Called by install.cpp (through it by the optimizer hooks) and by redirect.cpp on every operator.
#pragma once

namespace jitc::torch_device {

/// Follows PyTorch's caching allocator from now on. Memory that is freed while another stream still uses it
/// (record_stream) stays live until the allocator gives it out again. Throws if the allocator in use cannot
/// be followed; then everything that is allocated counts as live.
void track_allocations();
/// Begins a step. computes_gradients: the optimizer has a closure, whose backward pass is a part of the step.
void step_begin(bool computes_gradients);
void step_end();
/// Reports to the interposer when this thread enters another phase; costs next to nothing.
void update_phase();
/// Returns the calling thread's phase, for jitc_set_phase_source: needed on a real GPU, where no redirected
/// operator reports the phase.
int current_phase();

}  // namespace jitc::torch_device
