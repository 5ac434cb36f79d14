// Modules of the driver API that belong to a library.
//
// Used by library.cpp.
#pragma once
#include "module_image.h"

namespace jitc::api {

/// Returns a handle of the library's module on a device, valid as long as the library lives.
uint64_t library_module(ModuleImage& image, int device);
void forget_library_modules(const ModuleImage& image);

}  // namespace jitc::api
