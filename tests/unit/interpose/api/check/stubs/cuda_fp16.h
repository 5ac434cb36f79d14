// The type's size is all that a signature needs.
#pragma once
struct __half {
  unsigned short bits;
};
struct __half2 {
  unsigned int bits;
};
typedef __half half;
