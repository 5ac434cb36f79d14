// Where the operands of a collective are when they have been copied to the host, while sessions take turns at
// their GPU (decision 67).
//
// Called by: the devices' Staging. Promise: an operand that lies inside the other lies inside its copy.
#pragma once
#include <cstdint>
#include <utility>

namespace jitc::device {

/// Address: a number or a pointer; 0: there is none.
template <class Address>
struct Operand {
  Address address;
  uint64_t bytes;
  bool is_inside(const Operand& other) const {
    return address && other.address && bytes && address >= other.address &&
           address + bytes <= other.address + other.bytes;
  }
};

/// copy: of an operand, gives its address. Gives those of both.
template <class Address, class Copy>
std::pair<Address, Address> copies_of(const Operand<Address>& send, const Operand<Address>& receive,
                                      const Copy& copy) {
  if (receive.is_inside(send)) {
    const Address sent = copy(send);
    return {sent, sent + (receive.address - send.address)};
  }
  const Address received = copy(receive);
  return {send.is_inside(receive) ? received + (send.address - receive.address) : copy(send), received};
}

}  // namespace jitc::device
