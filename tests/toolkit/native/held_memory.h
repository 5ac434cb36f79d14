// Cases of memory that is held first and mapped later, which are the same on both devices. Each takes
// sessions of the device from `make`; limit: of their memory, 0 for what the device has.
#pragma once
#include <functional>
#include <memory>

#include "client.h"

namespace jitc::test {

using MakeClient = std::function<std::unique_ptr<Client>(uint64_t limit)>;

uint32_t hold(Client& client, uint64_t handle, uint64_t bytes);
uint64_t map_memory(Client& client, uint64_t handle, uint64_t address);
uint64_t drop_memory(Client& client, uint64_t handle);

void held_memory_becomes_blocks_that_are_as_one(const MakeClient& make);
void held_memory_counts_and_can_be_given_up(const MakeClient& make);
void held_memory_bad_ops_are_refused(const MakeClient& make);
void held_memory_is_restored(const MakeClient& make);
void held_memory_is_restored_in_a_fresh_device(const MakeClient& make);
void held_memory_takes_the_addresses_of_freed_blocks(const MakeClient& make);

}  // namespace jitc::test
