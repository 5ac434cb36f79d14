// What a program sets on a device, a stream or a module's compilation and what the device does not get to
// know.
//
// Called by: context.cpp, stream.cpp, module.cpp, library.cpp. Promise: a setting that CUDA gives back is
// kept, one that CUDA refuses is refused, and one that would have changed something is named once on standard
// error.
#pragma once
#include <span>

#include "status.h"

namespace jitc::api {

Status set_device_flags(int device, uint32_t flags);
uint32_t device_flags(int device);

/// Of cudaStreamSetAttribute, for a stream that exists.
Status accept_stream_attribute(int32_t attribute);

/// Options of the driver's compiler that come with an image: outputs are filled in (there is no log), the
/// others are named where the image may have to be compiled.
void answer_jit_options(const char* function, std::span<const std::byte> image, uint32_t count,
                        const int32_t* options, void** values);

}  // namespace jitc::api
