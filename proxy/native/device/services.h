// Services that a back end obtains from outside: module images that the node keeps, and the shared segments
// of communicators.
//
// Called by: the back ends. Implemented by ImageStore and Session.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/open_file.h"
#include "base/shared/doorbell.h"
#include "resources.h"

namespace jitc {

/// Module images that the node keeps (executor/state/images.h).
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  /// Returns the whole image, valid while a module of it may need loading; empty with the reason in error.
  virtual std::span<const std::byte> image(const ImageHash& hash, uint64_t bytes, std::string& error) = 0;
};

/// Shared memory in which a communicator's ranks meet, in one recovery epoch.
struct CommunicatorSegment {
  std::shared_ptr<const OpenFile> file;  // null: there is none
  uint64_t bytes = 0, identity = 0;
  /// True if a recovery rolls the joining op back; its fence has arrived. Nothing is to be reported.
  bool superseded = false;
  uint32_t status = 0;  // without a file: cudaError_t and text for the program
  std::string error;
  /// Rung after ranks that may be on another node; outlives the segment. Null: there is no board.
  Doorbell* bridge = nullptr;
};

/// Obtains the segment of a communicator (round trip to the node service).
class CommunicatorSegments {
 public:
  virtual ~CommunicatorSegments() = default;
  virtual CommunicatorSegment join(const std::array<uint8_t, 128>& unique_id, uint32_t ranks,
                                   uint32_t rank) = 0;
};

}  // namespace jitc
