// See images.h.
#include "images.h"

#include <algorithm>

namespace jitc::test {

ImageHash Images::add(const std::string& name, const std::string& content, size_t bytes) {
  ImageHash hash{};
  std::copy_n(name.begin(), std::min(name.size(), hash.size()), hash.begin());
  images_[hash] = {content, bytes};
  return hash;
}

std::span<const std::byte> Images::image(const ImageHash& hash, uint64_t bytes, std::string& error) {
  on_asked();
  const auto found = images_.find(hash);
  if (found == images_.end() || found->second.bytes != bytes) {
    error = "the image is not there";
    return {};
  }
  return std::as_bytes(std::span(found->second.content)).first(bytes);
}

Images& images() {
  static Images all;
  return all;
}

}  // namespace jitc::test
