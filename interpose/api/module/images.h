// Bytes of module images: finds the image behind a pointer (a fat binary, a cubin, PTX text) and sends it to
// the node.
//
// Used by module_image.cpp and the driver's load functions. Promise: an image that the node has, from any
// program, is not sent again.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "api/common/visible_devices.h"

namespace jitc::api {

using ImageHash = std::array<uint8_t, 16>;

/// Returns the bytes of the image at the address: a fat binary (or the wrapper that compilers register), ELF,
/// or PTX text with its terminating zero. Empty: none of these, or headers that point beyond limit bytes.
std::span<const std::byte> image_at(const void* image, uint64_t limit = UINT64_MAX);
/// Reads a file, followed by a zero, for image_at.
Status read_image(const char* path, std::vector<std::byte>* out);
/// Returns the XXH3 hash, 128 bits, in canonical form.
ImageHash hash_of(std::span<const std::byte> image);
/// Ensures that the node has the image.
Status bring_image(Session& session, const ImageHash& hash, std::span<const std::byte> image);

}  // namespace jitc::api
