// Ops of pinned memory that a program shares with its worker, for the cases of both devices.
#pragma once
#include "jitc/generated_ops.h"

namespace jitc::test {

inline ops::HostRegister host_register(uint64_t address, uint64_t bytes) {
  ops::HostRegister op;
  op.address = address;
  op.bytes = bytes;
  return op;
}
inline ops::HostUnregister host_unregister(uint64_t address) {
  ops::HostUnregister op;
  op.address = address;
  return op;
}
inline ops::CopyD2hPinned d2h(uint64_t to, uint64_t from, uint64_t bytes) {
  ops::CopyD2hPinned op;
  op.address = from;
  op.destination = to;
  op.bytes = bytes;
  return op;
}

}  // namespace jitc::test
