// Kind of memory in a range of addresses, determined once.
//
// Called by: copies, for each of their two sides; pointer.cpp. Promise: a look-up asks no other process.
#pragma once
#include "api/address/small_blocks.h"
#include "api/host/host_memory.h"

namespace jitc::api {

struct Place {
  uint64_t address = 0;
  Session* session = nullptr;  // of the GPU that owns the memory or variable; nullptr: host memory
  bool whole = true;           // false: not entirely in allocations of that GPU, or in one variable
  Block block;                 // of the GPU's memory, that holds the address
  HostRange host;              // for host memory

  bool on_device() const { return session != nullptr; }
};
Place place_of(uint64_t address, uint64_t bytes);

}  // namespace jitc::api
