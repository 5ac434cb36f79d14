// Addresses of a collective's operands after copying to the host, while sessions take turns at their GPU
// (decision 67).
//
// Called by: the devices' Staging. Promise: an operand that lies inside the other lies inside its copy.
#pragma once
#include <cstdint>
#include <utility>

namespace jitc::device {

/// Pair of operand addresses, each a number or a pointer; 0: none.
template <class Address>
struct Operand {
  Address address;
  uint64_t bytes;
  bool is_inside(const Operand& other) const {
    return address && other.address && bytes && address >= other.address &&
           address + bytes <= other.address + other.bytes;
  }
};

/// Copies both operands and returns their new addresses. copy: copies one operand, returns its address.
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
