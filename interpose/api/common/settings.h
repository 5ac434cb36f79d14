// Settings of a device, a stream or a module's compilation that stay in the process.
//
// Called by: context.cpp, stream.cpp, module.cpp, library.cpp. Promises: a setting that CUDA returns on
// request is kept; one that CUDA refuses is refused; one that would have an effect is named once on standard
// error.
#pragma once
#include <span>

#include "status.h"

namespace jitc::api {

Status set_device_flags(int device, uint32_t flags);
uint32_t device_flags(int device);

/// Accepts an attribute for cudaStreamSetAttribute, on an existing stream.
Status accept_stream_attribute(int32_t attribute);

/// Answers the driver compiler's options that come with an image: fills in the outputs (there is no log) and
/// names the other options, if the image may have to be compiled.
void answer_jit_options(const char* function, std::span<const std::byte> image, uint32_t count,
                        const int32_t* options, void** values);

}  // namespace jitc::api
