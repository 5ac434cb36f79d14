// Step boundaries: which memory is live, and in which phase a thread is.
//
// Called by install.cpp (through it by the optimizer hooks) and by redirect.cpp on every operator.
#pragma once

namespace jitc::torch_device {

/// Follows PyTorch's caching allocator from now on. Memory that is freed while another stream still uses it
/// (record_stream) stays live until the allocator gives it out again.
void track_allocations();
void step_begin();
void step_end();
/// Tells the interposer when this thread has gone from forward to backward and so on; next to free.
void update_phase();

}  // namespace jitc::torch_device
