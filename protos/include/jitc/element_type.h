/* The type of the elements of a copied result, if the program's framework has reported it.
 *
 * The client puts it into copies to the host. The worker compares numbers by it when an op runs again (a
 * replay may sum in another order, see docs/guarantees.md). Anything but floating-point numbers is `unknown`:
 * such results are equal only if their bytes are. */
#pragma once
#include <stdint.h>

enum jitc_element_type {
  JITC_ELEMENT_UNKNOWN = 0,
  JITC_ELEMENT_F16 = 1,
  JITC_ELEMENT_BF16 = 2,
  JITC_ELEMENT_F32 = 3,
  JITC_ELEMENT_F64 = 4
};
