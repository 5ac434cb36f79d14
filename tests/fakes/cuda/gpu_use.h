// What all processes together use of each physical GPU's memory, in the file JITC_FAKE_MEMORY_USE; without it
// a process counts its own alone. Promise: what a process used is free again once it has ended, however it
// did.
#pragma once
#include <cstddef>

namespace jitc::fakes {

/// Adds so many bytes to what this process uses, unless all would then use more than total.
bool take_of_gpu(int physical, size_t bytes, size_t total);
void give_to_gpu(int physical, size_t bytes);
/// By all processes.
size_t used_of_gpu(int physical);

}  // namespace jitc::fakes
