// Options that a back end is made with.
//
// Session fills them in; the devices read them. See backend.h.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/shared/gpu_turn.h"
#include "base/shared/memory_budget.h"
#include "base/shuffle.h"
#include "jitc/generated_options.h"
#include "progress_doorbell.h"

namespace jitc {

/// Memory that this process and the program share, mapped in both at one address; bytes 0: none.
struct PinnedRange {
  uint64_t base = 0, bytes = 0;
  /// Returns the range if all of it lies inside; else nullptr.
  std::byte* find(uint64_t address, uint64_t size) const {
    const bool inside = size <= bytes && address >= base && address - base <= bytes - size;
    return inside && bytes ? reinterpret_cast<std::byte*>(address) : nullptr;
  }
};

/// Libraries opened at run time: names (jitc/executor_api.h) and paths.
class Libraries {
 public:
  Libraries() = default;
  explicit Libraries(std::map<std::string, std::string, std::less<>> paths) : paths_(std::move(paths)) {}
  /// Returns an empty path if there is no such library.
  const std::string& path(std::string_view name) const {
    static const std::string kNone;
    const auto found = paths_.find(name);
    return found == paths_.end() ? kNone : found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> paths_;
};

struct BackendOptions {
  uint64_t address_base, address_bytes, memory_limit;
  int threads;  // of one operator; fixed per job so that results do not change
  WorkerOptions given;
  Libraries libraries;
  Shuffle shuffle;     // for the software device: what it delays
  int ordinal = 0;     // of the driver
  PinnedRange pinned;  // shared with the program
  /// Limit shared by the sessions on the GPU; none: this session has the limit for itself.
  std::shared_ptr<MemoryBudget> budget;
  /// Turns at the GPU if its sessions do not fit together; none: there are no turns.
  std::shared_ptr<GpuTurn> turn;
  CopiesBudget* node_memory = nullptr;                    // budget that moved-out memory counts against
  std::function<bool()> outdated = [] { return false; };  // a newer fence makes the running command useless
};
inline std::shared_ptr<MemoryBudget> budget_of(const BackendOptions& options) {
  return options.budget ? options.budget : std::make_shared<LocalBudget>();
}

}  // namespace jitc
