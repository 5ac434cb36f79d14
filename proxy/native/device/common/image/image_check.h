// What a module image says of its own size, looked at before the driver or the loader, which believe it, read
// it. Called by: Modules of both devices. Pure: no state.
#pragma once
#include <cstddef>
#include <span>

namespace jitc::device {

enum class ImageKind { text, binary, damaged };

/// binary: a fat binary or cubin whose parts all lie inside of it; text: anything else, read up to a zero.
ImageKind kind_of_image(std::span<const std::byte> image);

}  // namespace jitc::device
