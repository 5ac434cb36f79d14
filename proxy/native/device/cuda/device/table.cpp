// See table.h. One line per op; ops that are not here are refused by name.
#include "table.h"

#include <array>

namespace jitc::cuda {

const Table* Table::find(uint16_t id) {
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
      {OpId::copy_h2d, &Device::place_copy_h2d},
      {OpId::copy_d2h, &Device::place_copy_d2h},
      {OpId::copy_d2h_pinned, &Device::place_copy_d2h_pinned},
      {OpId::copy_d2d, &Device::place_copy_d2d},
      {OpId::copy_2d, &Device::place_copy_2d},
      {OpId::fill, &Device::place_fill},
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
      {OpId::image_query, &Device::place_nowhere},  // the core has seen to them
      {OpId::image_part, &Device::place_nowhere},
      {OpId::module_load, &Device::place_module_load},
      {OpId::module_unload, &Device::place_module_unload},
      {OpId::function_get, &Device::place_function_get},
      {OpId::function_set, &Device::place_function_set},
      {OpId::function_query, &Device::place_function_query},
      {OpId::variable_get, &Device::place_variable_get},
      {OpId::tensor_map, &Device::place_tensor_map},
      {OpId::kernel_launch, &Device::place_kernel_launch},
      {OpId::capture_begin, &Device::place_capture_begin},
      {OpId::capture_end, &Device::place_capture_end},
      {OpId::graph_destroy, &Device::place_graph_destroy},
      {OpId::graph_instantiate, &Device::place_graph_instantiate},
      {OpId::graph_launch, &Device::place_graph_launch},
      {OpId::executable_destroy, &Device::place_executable_destroy},
      {OpId::communicator_create, &Device::place_communicator_create},
      {OpId::communicator_split, &Device::place_communicator_split},
      {OpId::communicator_destroy, &Device::place_communicator_destroy},
      {OpId::collective, &Device::place_collective},
      {OpId::blas_create, &Device::place_blas_create},
      {OpId::blas_destroy, &Device::place_blas_destroy},
      {OpId::blas_set, &Device::place_blas_set},
      {OpId::blas_call, &Device::place_blas_call},
      {OpId::lt_heuristic, &Device::place_lt_heuristic},
      {OpId::lt_matmul, &Device::place_lt_matmul},
      {OpId::dnn_ask, &Device::place_dnn_ask},
      {OpId::dnn_call, &Device::place_dnn_call},
      {OpId::dnn_try, &Device::place_dnn_try},
      {OpId::dnn_plan_load, &Device::place_dnn_plan_load},
      {OpId::dnn_plan_drop, &Device::place_dnn_plan_drop},
      {OpId::dnn_execute, &Device::place_dnn_execute},
      {OpId::dnn_execute_try, &Device::place_dnn_execute_try},
  };
  // Ids are family << 8 | number, both small: an index by id costs two kilobytes and no search.
  static constexpr size_t kIds = 0xa00;
  static constexpr auto kIndex = [] {
    std::array<uint8_t, kIds> index{};
    for (size_t i = 0; i < std::size(kTable); ++i)
      index[static_cast<size_t>(kTable[i].id)] = static_cast<uint8_t>(i + 1);
    return index;
  }();
  const uint8_t at = id < kIds ? kIndex[id] : 0;
  return at ? &kTable[at - 1] : nullptr;
}

}  // namespace jitc::cuda
