// Compiles only when the fake NVRTC's signatures are those of the real nvrtc.h.
#include <nvrtc.h>

#include "../nvrtc/functions.h"
#include "same_abi.h"

namespace jitc::fakes {
#define JITC_FAKE(name, ...) static_assert(SameAbi<__VA_ARGS__, decltype(::name)>::value, #name);
#include "../nvrtc/functions.def"
}  // namespace jitc::fakes
