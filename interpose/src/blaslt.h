// Objects of cuBLASLt as its product sees them.
#pragma once
#include "blas.h"

namespace jitc::front {

struct Layout {
  uint32_t type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  int32_t order = 0, batch = 1;
};
struct Desc {
  uint32_t compute = 0, scale_type = 0;
  int32_t pointer_mode = 0, transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = 1;
  uint64_t bias = 0;
  int32_t bias_type = -1;
  bool unserved = false;  // an attribute that matters and that we do not have
};

bool is_lt_handle(uint64_t handle);
bool is_preference(uint64_t handle);
bool find_layout(uint64_t handle, Layout* out);
bool find_desc(uint64_t handle, Desc* out);

}  // namespace jitc::front
