// Compiles only when the fake NCCL's signatures, structures and numbers are those of the real nccl.h.
#include <nccl.h>

#include "../nccl/abi.h"
#include "same_abi.h"

namespace jitc::fakes {
#define JITC_FAKE(name, ...) \
  static_assert(SameAbi<__VA_ARGS__, std::remove_pointer_t<decltype(&::name)>>::value, #name);
#include "../nccl/functions.def"

#define JITC_SAME_PLACE(field) \
  static_assert(offsetof(ncclConfig_t, field) == offsetof(::ncclConfig_t, field), #field)
static_assert(sizeof(ncclUniqueId) == sizeof(::ncclUniqueId));
static_assert(sizeof(ncclConfig_t) <= sizeof(::ncclConfig_t));  // newer releases append; it says its own size
JITC_SAME_PLACE(magic);
JITC_SAME_PLACE(blocking);
JITC_SAME_PLACE(netName);
JITC_SAME_PLACE(splitShare);
JITC_SAME_PLACE(nvlinkCentricSched);

static_assert(kNcclInvalidArgument == static_cast<int>(::ncclInvalidArgument));
static_assert(kNcclInvalidUsage == static_cast<int>(::ncclInvalidUsage));
static_assert(kNcclRemoteError == static_cast<int>(::ncclRemoteError));
static_assert(kNcclInProgress == static_cast<int>(::ncclInProgress));
static_assert(kInt32 == static_cast<int>(::ncclInt32) && kUint64 == static_cast<int>(::ncclUint64));
static_assert(kFloat16 == static_cast<int>(::ncclFloat16) && kFloat32 == static_cast<int>(::ncclFloat32));
static_assert(kFloat64 == static_cast<int>(::ncclFloat64) && kBfloat16 == static_cast<int>(::ncclBfloat16));
static_assert(kFloat8e5m2 == static_cast<int>(::ncclFloat8e5m2));
static_assert(kSum == static_cast<int>(::ncclSum) && kMin == static_cast<int>(::ncclMin));
static_assert(kAvg == static_cast<int>(::ncclAvg) && kFirstOwnOp == static_cast<int>(::ncclNumOps));
static_assert(kUndefined == NCCL_CONFIG_UNDEF_INT && kNoColor == NCCL_SPLIT_NOCOLOR);
static_assert(static_cast<int>(::ncclScalarDevice) == 0 && static_cast<int>(::ncclScalarHostImmediate) == 1);
}  // namespace jitc::fakes
