// Unix sockets of the training process.
//
// Called by: connection.cpp, stream.cpp. Promises: descriptors are close-on-exec, and a child made by fork
// closes its copies at once (it would otherwise keep the parent's connection open, so that the other
// side never learns that the parent has hung up); nothing is sent by the child.
#pragma once
#include <string>

namespace jitc::transport {

/// A descriptor that is closed with its owner, and in children made by fork.
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

/// Connects without blocking for long; on failure returns an empty descriptor and -errno in error.
Descriptor connect_unix(const std::string& path, int* error);

}  // namespace jitc::transport
