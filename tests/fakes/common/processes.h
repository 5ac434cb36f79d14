// Whether other processes, which use the same fake GPU or communicator, still live.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace jitc::fakes {

/// Ended, though nobody may have asked for its status yet.
inline bool ended(int process) {
  char path[64], text[512] = {};
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const ssize_t got = ::read(file, text, sizeof text - 1);
  ::close(file);
  const char* const name_end = got > 0 ? std::strrchr(text, ')') : nullptr;
  return !name_end || name_end[2] == 'Z' || name_end[2] == 'X';
}

}  // namespace jitc::fakes
