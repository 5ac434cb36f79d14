// Communicators of the program.
//
// Used by the files of this folder.
#pragma once
#include "api/common/visible_devices.h"
#include "jitc/generated_ops.h"

namespace jitc::api {

/// ncclDataType_t.
enum NcclType : int32_t {
  kNcclI8 = 0,
  kNcclU8,
  kNcclI32,
  kNcclU32,
  kNcclI64,
  kNcclU64,
  kNcclF16,
  kNcclF32,
  kNcclF64,
  kNcclBf16,
  kNcclF8E4M3,
  kNcclF8E5M2,
  kNcclTypes,
};

struct Communicator {
  Session* session = nullptr;
  int device = 0;
  int32_t ranks = 0, rank = 0;
};
/// Finds a communicator. False: not a live one.
bool find_communicator(uint64_t comm, Communicator* out);
Status to_nccl(Status cuda);

/// Pre-multiplied sum that the program made; false when op is none.
struct PremulSum {
  double scale = 1;
  uint64_t scale_address = 0;
};
bool find_premul_sum(int32_t op, PremulSum* out);

}  // namespace jitc::api
