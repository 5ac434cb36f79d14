// Objects of cuBLASLt as needed by its product.
//
// Used by blaslt.cpp and lt_call.cpp.
#pragma once
#include "api/cublas/matmul.h"
#include "lt_record.h"

namespace jitc::api {

struct Layout {
  uint32_t type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  int32_t order = 0, batch = 1;
  LtRecord record;
};
struct Desc {
  uint32_t compute = 0, scale_type = 0;
  int32_t pointer_mode = 0, transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = kNoEpilogue;
  uint64_t bias = 0;
  int32_t bias_type = -1;
  bool unserved = false;  // has an attribute that changes the result and that the software device lacks
  LtRecord record;
};

bool is_lt_handle(uint64_t handle);
bool is_preference(uint64_t handle);
bool find_layout(uint64_t handle, Layout* out);
bool find_desc(uint64_t handle, Desc* out);
/// Copies the records of the same objects, for a device with kernels; false: there is no such object.
bool copy_desc_record(uint64_t handle, LtRecord* out);
bool write_desc(uint64_t handle, CallWriter& out);
bool write_layout(uint64_t handle, CallWriter& out);
bool write_preference(uint64_t handle, CallWriter& out);

}  // namespace jitc::api
