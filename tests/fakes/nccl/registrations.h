// Memory of captured operations, registered as NCCL registers it (NCCL_GRAPH_REGISTER): retained, and
// exported for the peers as a file descriptor. Promise, NCCL's own: what cannot be exported stays retained
// for good. Used by communicator.cpp.
#pragma once
#include <mutex>
#include <vector>

#include "operation.h"

namespace jitc::fakes {

class Registrations {
 public:
  ~Registrations() { drop(); }
  void add(const std::vector<Operation>& operations);
  /// Their graphs are gone.
  void drop();

 private:
  struct One {
    unsigned long long handle;
    int file;
  };
  void add(const void* address);

  std::mutex mutex_;
  std::vector<One> all_;
};

}  // namespace jitc::fakes
