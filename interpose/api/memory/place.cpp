// See place.h.
#include "place.h"

#include "api/module/variables.h"
#include "memory.h"

namespace jitc::api {

Place place_of(uint64_t address, uint64_t bytes) {
  Place place{.address = address};
  place.session = Node::instance().owner(address);
  if (place.session) {
    place.whole = addresses_of(*place.session).find(address, bytes, &place.block);
  } else if ((place.session = variable_range(address, 0, &place.block))) {
    place.whole = bytes <= place.block.bytes - (address - place.block.address);
  } else {
    place.host = host_range(address, bytes);
  }
  return place;
}

}  // namespace jitc::api
