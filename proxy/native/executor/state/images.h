// Module images as files of the node: shared by all sessions, kept over the life of workers, bounded.
//
//   <path>/<hash>                      complete and checked
//   <path>/held/<session>/<hash>       hard link: the session needs it, so it is never removed
//   <path>/held/<session>/<hash>-<bytes>.part  in flight; its size is the part received
//
// Called by: OpIssuer (the dispatcher's thread) and Restorer (while it is parked). Promises: an image that is
// returned has the hash that was asked for; no more than the limit lies there, and three quarters of it for
// one session; any number of processes may use the folder at once. The service makes the folder, and removes
// held / <session> of lost sessions.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/services.h"

namespace jitc {

/// An error of an image: what is wrong, and the CUDA status for it.
struct ImageError : Error {
  ImageError(uint32_t status_in, const std::string& message) : Error(message), status(status_in) {}
  uint32_t status;
};

class ImageStore final : public ImageSource {
 public:
  struct Place {
    std::string path;  // empty: this service keeps no images
    uint64_t limit = 0;
  };
  /// Opens the store. rebuild: the session was here before, and still holds what it held. Throws ImageError.
  ImageStore(Place place, uint64_t session, bool rebuild);
  ~ImageStore() override;
  ImageStore(const ImageStore&) = delete;
  ImageStore& operator=(const ImageStore&) = delete;

  bool enabled() const { return !place_.path.empty(); }
  /// Returns whether the whole image is there; if so the session holds it from now on. Removes a damaged one,
  /// so that the client sends it again.
  bool has(const ImageHash& hash, uint64_t bytes);
  /// Takes the next part of an image; skips bytes that are there already. Throws ImageError: a gap, no room,
  /// or a whole image that has another hash.
  void part(const ImageHash& hash, uint64_t total, uint64_t offset, std::span<const std::byte> bytes);
  /// Returns an image, checked every time, as it may lie there for weeks. Valid until the session releases
  /// it.
  std::span<const std::byte> image(const ImageHash& hash, uint64_t bytes, std::string& error) override;
  /// Keeps a document of the executor (a graph's content) under its hash, held. Returns false without room.
  bool keep(const ImageHash& hash, std::span<const std::byte> bytes);
  /// Releases all images that are not needed.
  void hold_only(const std::set<ImageHash>& needed);
  /// Releases all images: the session is over.
  void close();

 private:
  class Mapping;
  std::string shared(const ImageHash& hash) const;
  std::string held(const ImageHash& hash) const;
  std::string partial(const ImageHash& hash, uint64_t total) const;
  void find_held();
  bool hold(const ImageHash& hash, uint64_t bytes);
  void discard(const ImageHash& hash);
  void begin_part(const ImageHash& hash, uint64_t total);
  void complete(const ImageHash& hash, uint64_t total);
  void publish(const ImageHash& hash);
  uint64_t own_bytes() const;
  bool make_room(uint64_t bytes);

  const Place place_;
  const std::string own_;  // folder of this session
  std::set<ImageHash> held_;
  std::map<ImageHash, Mapping> maps_;
  std::vector<Mapping> discarded_;  // damaged; a caller that got them before may still read them
};

}  // namespace jitc
