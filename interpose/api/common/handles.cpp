// Numbers for objects in no table; see handles.h.
#include "handles.h"

#include <atomic>

namespace jitc::api {

uint64_t new_handle(Kind kind) {
  static std::atomic<uint64_t> last{0};
  constexpr uint64_t kNoAddress = uint64_t{1} << 62;
  return kNoAddress | ++last << 16 | uint64_t{static_cast<uint8_t>(kind)} << 8;
}

}  // namespace jitc::api
