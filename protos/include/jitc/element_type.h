/* What the elements of a copied result are, as far as the program's framework says it.
 *
 * The client puts it into copies to the host; the worker compares numbers with it when an op runs again (a
 * replay may sum in another order, see docs/guarantees.md). Everything that is no floating-point number is
 * `unknown`: then only equal bytes are equal. */
#pragma once
#include <stdint.h>

enum jitc_element_type {
  JITC_ELEMENT_UNKNOWN = 0,
  JITC_ELEMENT_F16 = 1,
  JITC_ELEMENT_BF16 = 2,
  JITC_ELEMENT_F32 = 3,
  JITC_ELEMENT_F64 = 4
};
