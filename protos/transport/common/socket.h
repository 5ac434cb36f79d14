// Unix sockets of both ends.
//
// Called by: client/, server/. Promises: descriptors are close-on-exec, and a child made by fork
// closes its copies at once (otherwise it would keep the parent's connection open, and the other side would
// never learn that the parent has hung up); the child sends nothing.
#pragma once
#include <string>

namespace jitc::transport {

/// A descriptor that is closed by its owner, and in children made by fork.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// Connects without blocking for long. On failure the descriptor is empty and error has -errno.
Descriptor connect_unix(const std::string& path, int* error);

/// Listens on a socket that is its user's alone. On failure the descriptor is empty and error has -errno.
Descriptor listen_unix(const std::string& path, int* error);

}  // namespace jitc::transport
