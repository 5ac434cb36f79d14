// Joins the core to the devices that this library is built with. See core/devices.h.
#include "core/devices.h"

#include "software/segment.h"

namespace jitc {

uint64_t segment_bytes(uint32_t ranks) { return software::Segment::bytes(ranks); }

}  // namespace jitc
