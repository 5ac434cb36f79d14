// Execution plan of cuDNN's graph API: sent to a worker at its first execution, executed with tensors.
//
// Used by dnn_graph.cpp. Promises: a worker has the plan before an execution; the first execution on a GPU
// waits for the library's status, later ones do not; a plan that a CUDA graph has captured is never dropped.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "api/call/call_record.h"
#include "api/stream/stream.h"

namespace jitc::api {

class DnnPlan {
 public:
  explicit DnnPlan(ObjectPointer record);
  ~DnnPlan();
  DnnPlan(const DnnPlan&) = delete;
  DnnPlan& operator=(const DnnPlan&) = delete;

  /// Executes the plan. pack: the variant pack, as it was set.
  Status execute(const StreamRef& stream, const ObjectRecord& pack);

 private:
  struct Loaded {
    uint64_t plan = 0;
    bool accepted = false, captured = false;
  };
  Status load(const StreamRef& stream, Loaded* out);
  void note(const Session* session, bool captured);

  const ObjectPointer record_;
  std::map<int64_t, uint64_t> by_value_;  // tensors passed by value with the pack: identifier -> bytes
  std::mutex mutex_;
  std::map<Session*, Loaded> loaded_;
};

}  // namespace jitc::api
