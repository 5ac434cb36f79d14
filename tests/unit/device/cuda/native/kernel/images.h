// Module images for tests: what the fake driver takes for modules (tests/fakes/README.md), by name.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "device/services.h"

namespace jitc::test {

class Images final : public ImageSource {
 public:
  /// An image under a hash that is the name's first bytes.
  ImageHash add(const std::string& name, const std::string& content) {
    return add(name, content, content.size());
  }
  /// Only the first bytes of content; the rest lies behind the image in memory.
  ImageHash add(const std::string& name, const std::string& content, size_t bytes);
  uint64_t size(const ImageHash& hash) const { return images_.at(hash).bytes; }
  void lose(const ImageHash& hash) { images_.erase(hash); }
  std::span<const std::byte> image(const ImageHash& hash, uint64_t bytes, std::string& error) override;
  /// Called when a device asks for one, which it is about to load.
  std::function<void()> on_asked = [] {};

 private:
  struct Image {
    std::string content;
    size_t bytes;
  };
  std::map<ImageHash, Image> images_;
};

/// Those of all sessions of the process.
Images& images();

}  // namespace jitc::test
