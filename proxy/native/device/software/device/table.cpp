// See table.h. Ops that are not here need a device that runs kernels. Ops that need nothing looked up go
// straight to their stream.
#include "table.h"

namespace jitc::software {

const Table* Table::find(ops::OpId id) {
  using ops::OpId;
  static constexpr Table kTable[] = {
      {OpId::step_begin, &Device::place_nowhere},
      {OpId::boundary, &Device::place_nowhere},
      {OpId::live_set, &Device::place_nowhere},
      {OpId::allocate, &Device::place_allocate},
      {OpId::free, &Device::place_free},
      {OpId::memory_hold, &Device::place_memory_hold},
      {OpId::memory_map, &Device::place_memory_map},
      {OpId::memory_drop, &Device::place_memory_drop},
      {OpId::copy_h2d, &Device::place_on_stream},
      {OpId::copy_d2h, &Device::place_on_stream},
      {OpId::copy_d2h_pinned, &Device::place_on_stream},
      {OpId::copy_d2d, &Device::place_on_stream},
      {OpId::copy_2d, &Device::place_on_stream},
      {OpId::fill, &Device::place_on_stream},
      {OpId::memory_info, &Device::place_memory_info},
      {OpId::host_register, &Device::place_host_register},
      {OpId::host_unregister, &Device::place_host_unregister},
      {OpId::stream_create, &Device::place_stream_create},
      {OpId::stream_destroy, &Device::place_stream_destroy},
      {OpId::stream_synchronize, &Device::place_stream_synchronize},
      {OpId::device_synchronize, &Device::place_device_synchronize},
      {OpId::event_create, &Device::place_event_create},
      {OpId::event_destroy, &Device::place_event_destroy},
      {OpId::event_record, &Device::place_event_record},
      {OpId::event_wait, &Device::place_event_wait},
      {OpId::event_synchronize, &Device::place_event_synchronize},
      {OpId::event_elapsed, &Device::place_event_elapsed},
      {OpId::operator_call, &Device::place_on_stream},
      {OpId::operator_query, &Device::place_on_stream},
      {OpId::communicator_create, &Device::place_communicator_create},
      {OpId::communicator_split, &Device::place_communicator_split},
      {OpId::communicator_destroy, &Device::place_communicator_destroy},
      {OpId::collective, &Device::place_collective},
      {OpId::matmul, &Device::place_on_stream},
      {OpId::image_query, &Device::place_nowhere},  // the core has seen to them
      {OpId::image_part, &Device::place_nowhere},
  };
  for (const Table& entry : kTable)
    if (entry.id == id) return &entry;
  return nullptr;
}

}  // namespace jitc::software
