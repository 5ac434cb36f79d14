// Checks the size that a module image declares, before the driver or the loader, which trust it, reads it.
// Called by: Modules of both devices. Pure: no state.
#pragma once
#include <cstddef>
#include <span>

namespace jitc::device {

enum class ImageKind { text, binary, damaged };

/// Returns binary for a fat binary or cubin whose parts all lie inside of it, else text: read up to a zero.
ImageKind kind_of_image(std::span<const std::byte> image);

}  // namespace jitc::device
