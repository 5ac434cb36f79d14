// Limits of a context for kernels (CUlimit): stack, heap, printf buffer.
//
// All sessions of a worker share its context. Promises: the limit in force is the largest that a session
// requests, or the original one if none does; a value already in force is not set again, since the driver
// accepts some limits only before the first kernel. Called by: Modules, through Context, which is bound.
#pragma once
#include <map>
#include <mutex>
#include <set>

#include "driver.h"

namespace jitc::cuda {

class ContextLimits {
 public:
  explicit ContextLimits(const Driver& driver) : driver_(driver) {}

  /// Owner of a session's requests, which end with it.
  class Owner {
   public:
    explicit Owner(ContextLimits& limits) : limits_(limits) {}
    ~Owner() { clear(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    /// Requests a limit. in_force: may be more, the driver rounds.
    abi::CUresult set(int32_t limit, size_t value, size_t* in_force) {
      return limits_.set(this, limit, value, in_force);
    }
    /// Drops all requests but these.
    void clear(const std::set<int32_t>& but = {}) { limits_.clear(this, but); }

   private:
    ContextLimits& limits_;
  };

 private:
  struct Limit {
    size_t before;  // before any session's request
    size_t given;   // passed to the driver, which may round it
    std::map<const Owner*, size_t> asked = {};
    size_t wanted() const;
  };
  abi::CUresult set(const Owner* owner, int32_t limit, size_t value, size_t* in_force);
  void clear(const Owner* owner, const std::set<int32_t>& but);
  abi::CUresult apply(int32_t number, Limit& limit);

  const Driver& driver_;
  std::mutex mutex_;
  std::map<int32_t, Limit> limits_;
};

}  // namespace jitc::cuda
