// Limits of a context for kernels (CUlimit): stack, heap, what they print.
//
// All sessions of a worker share its context. Promises: in force is the most that a session asks for, or what
// was before there were any; a value that is in force already is not set again, since the driver takes some
// of them only before the first kernel. Called by: Modules, through Context, which is bound.
#pragma once
#include <map>
#include <mutex>
#include <set>

#include "driver.h"

namespace jitc::cuda {

class ContextLimits {
 public:
  explicit ContextLimits(const Driver& driver) : driver_(driver) {}

  /// A session's; it asks for nothing any more when this goes.
  class Owner {
   public:
    explicit Owner(ContextLimits& limits) : limits_(limits) {}
    ~Owner() { clear(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    /// in_force: may be more, the driver rounds.
    abi::CUresult set(int32_t limit, size_t value, size_t* in_force) {
      return limits_.set(this, limit, value, in_force);
    }
    /// It asks for none but these.
    void clear(const std::set<int32_t>& but = {}) { limits_.clear(this, but); }

   private:
    ContextLimits& limits_;
  };

 private:
  struct Limit {
    size_t before;  // anybody asked
    size_t given;   // to the driver, which may round it
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
