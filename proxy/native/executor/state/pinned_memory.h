// Pinned memory of one session: shared memory that the program writes and reads while this process does.
//
// The service creates it and seals its size, so that no process can take pages away under this one (SIGBUS).
// It is mapped at the program's addresses, so that kernels can use the program's pointers. Its content is
// never trusted and may change at any time. Called by: SessionCore, which has it; Intake; back ends get it as
// a range.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/backend_options.h"

namespace jitc {

class PinnedMemory {
 public:
  struct Place {
    std::string path;  // empty: there is none
    uint64_t base = 0, bytes = 0;
  };
  /// Maps the memory. Throws Error: not there, not sealed, too short, or its addresses are taken.
  explicit PinnedMemory(const Place& place);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  const PinnedRange& range() const { return range_; }

 private:
  PinnedRange range_;
};

}  // namespace jitc
