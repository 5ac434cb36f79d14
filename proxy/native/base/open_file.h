// A descriptor of this process that is closed with its owner.
//
// Called by: the segments of communicators, pinned memory. Promise: never throws; a file that could not be
// opened says why.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace jitc {

class OpenFile {
 public:
  /// Owns the descriptor from now on; a negative one is none.
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  /// Opens the file to read and write.
  explicit OpenFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDWR | O_CLOEXEC)), reason_(descriptor_ < 0 ? errno : 0) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  /// Returns why the file could not be opened.
  std::string reason() const { return std::strerror(reason_); }

 private:
  const int descriptor_, reason_ = 0;
};

}  // namespace jitc
