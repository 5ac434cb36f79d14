// The type's size is all that a signature needs.
#pragma once
struct __nv_bfloat16 {
  unsigned short bits;
};
