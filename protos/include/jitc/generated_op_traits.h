// Generated from protos/ops/traits.py by `python -m jitc.interpose.generator`; do not edit.
#pragma once
#include "generated_ops.h"

namespace jitc::ops {

enum class Check : uint8_t { none, live_blocks, items, copy_bytes, copy_size, image_size, image_part, name, launch, blas_slots, description, scaled_description, tensors, operator_call };
enum class Taker : uint8_t { device, images, live_set, step_begin, boundary, replay };
enum class Window : uint8_t { none, collective, launched_collective, allocation, answer };
enum class Skipped : uint8_t { must_run, succeeds, asks_images };
enum class Making : uint8_t { nothing, synchronous, with_others, synchronous_and_again, taking_away };
enum class Point : uint8_t { none, collective, copy, boundary };
enum class Limit : uint8_t { none, streams, events, communicators, modules, functions, graphs, blas_handles, dnn_plans };
enum class Reads : uint8_t { nothing, bytes, elements };
enum class ResultSize : uint8_t { small, copied, any };
enum class Shows : uint8_t { nothing, stream, event, device };

/// What executor and client must know of an op beside its layout; what each means: protos/ops/traits.py.
struct OpTraits {
  Check check;
  Taker taker;
  Window window;
  Skipped skipped;
  Making making;
  Point point;
  Limit limit;
  Reads reads;
  ResultSize result_size;
  Shows shows;
  bool capturable, on_stream, images, result_is_state;
};
/// In the order of kOps.
inline constexpr std::array<OpTraits, 75> kOpTraits{{
    {Check::none, Taker::step_begin, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // step_begin
    {Check::live_blocks, Taker::boundary, Window::none, Skipped::must_run, Making::nothing, Point::boundary, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // boundary
    {Check::live_blocks, Taker::live_set, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // live_set
    {Check::name, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // order_site
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // order_known
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // order_host
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // order_unasked
    {Check::none, Taker::replay, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // known
    {Check::none, Taker::device, Window::allocation, Skipped::succeeds, Making::synchronous, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // allocate
    {Check::none, Taker::device, Window::allocation, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // free
    {Check::copy_bytes, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::copy, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, true, false, false},  // copy_h2d
    {Check::copy_size, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::copy, Limit::none, Reads::elements, ResultSize::copied, Shows::stream, false, true, false, false},  // copy_d2h
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::copy, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // copy_d2d
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::copy, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // copy_2d
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // fill
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // memory_info
    {Check::copy_size, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, true, false, false},  // copy_h2d_pinned
    {Check::copy_size, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::copy, Limit::none, Reads::bytes, ResultSize::small, Shows::stream, false, true, false, false},  // copy_d2h_pinned
    {Check::none, Taker::device, Window::none, Skipped::succeeds, Making::synchronous, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // host_register
    {Check::none, Taker::device, Window::none, Skipped::succeeds, Making::synchronous, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // host_unregister
    {Check::none, Taker::device, Window::allocation, Skipped::succeeds, Making::synchronous, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // memory_hold
    {Check::none, Taker::device, Window::allocation, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // memory_map
    {Check::none, Taker::device, Window::allocation, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // memory_drop
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::copy, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // copy_3d
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::streams, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // stream_create
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // stream_destroy
    {Check::none, Taker::device, Window::none, Skipped::succeeds, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::stream, false, false, false, false},  // stream_synchronize
    {Check::none, Taker::device, Window::none, Skipped::succeeds, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::device, false, false, false, false},  // device_synchronize
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::events, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // event_create
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // event_destroy
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // event_record
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // event_wait
    {Check::none, Taker::device, Window::none, Skipped::succeeds, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::event, false, false, false, false},  // event_synchronize
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // event_elapsed
    {Check::operator_call, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // operator_call
    {Check::operator_call, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::any, Shows::stream, false, true, false, false},  // operator_query
    {Check::launch, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // kernel_launch
    {Check::none, Taker::device, Window::collective, Skipped::must_run, Making::with_others, Point::none, Limit::communicators, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // communicator_create
    {Check::none, Taker::device, Window::collective, Skipped::must_run, Making::with_others, Point::none, Limit::communicators, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // communicator_split
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // communicator_destroy
    {Check::items, Taker::device, Window::collective, Skipped::must_run, Making::nothing, Point::collective, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // collective
    {Check::none, Taker::device, Window::collective, Skipped::must_run, Making::taking_away, Point::none, Limit::none, Reads::nothing, ResultSize::any, Shows::nothing, false, false, false, false},  // communicator_abort
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // matmul
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::blas_handles, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // blas_create
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // blas_destroy
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, false, false, false},  // blas_set
    {Check::blas_slots, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // blas_call
    {Check::description, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // lt_heuristic
    {Check::scaled_description, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // lt_matmul
    {Check::description, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // library_call
    {Check::description, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::any, Shows::nothing, false, false, false, false},  // library_ask
    {Check::image_size, Taker::images, Window::none, Skipped::asks_images, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // image_query
    {Check::image_part, Taker::images, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // image_part
    {Check::image_size, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::modules, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // module_load
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // module_unload
    {Check::name, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::functions, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // function_get
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // function_set
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // function_query
    {Check::name, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::functions, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, true},  // variable_get
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // tensor_map
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // limit_set
    {Check::name, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::functions, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, true},  // variable_alias
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, false, false, false},  // capture_begin
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::synchronous_and_again, Point::none, Limit::graphs, Reads::nothing, ResultSize::small, Shows::nothing, true, false, true, false},  // capture_end
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // graph_destroy
    {Check::none, Taker::device, Window::answer, Skipped::must_run, Making::synchronous, Point::none, Limit::graphs, Reads::nothing, ResultSize::small, Shows::nothing, false, false, false, false},  // graph_instantiate
    {Check::none, Taker::device, Window::launched_collective, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // graph_launch
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // executable_destroy
    {Check::description, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::any, Shows::nothing, false, true, false, false},  // dnn_ask
    {Check::description, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // dnn_call
    {Check::description, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, true, false, false},  // dnn_try
    {Check::image_size, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::dnn_plans, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // dnn_plan_load
    {Check::none, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, false, true, false},  // dnn_plan_drop
    {Check::tensors, Taker::device, Window::none, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, true, true, false, false},  // dnn_execute
    {Check::tensors, Taker::device, Window::answer, Skipped::must_run, Making::nothing, Point::none, Limit::none, Reads::nothing, ResultSize::small, Shows::nothing, false, true, false, false},  // dnn_execute_try
}};

/// Of an op that find() in generated_ops.h knows.
constexpr const OpInfo& info(OpId id) { return kOps[index_of(id)]; }
constexpr const OpTraits& traits(OpId id) { return kOpTraits[index_of(id)]; }
constexpr const OpTraits& traits(const OpInfo& info) { return traits(info.id); }

/// Calls handler.operator()<Op>() with the op's type; false: there is no such op.
template <class Handler>
bool with_type(OpId id, Handler&& handler) {
  switch (id) {
    case OpId::step_begin:
      handler.template operator()<StepBegin>();
      return true;
    case OpId::boundary:
      handler.template operator()<Boundary>();
      return true;
    case OpId::live_set:
      handler.template operator()<LiveSet>();
      return true;
    case OpId::order_site:
      handler.template operator()<OrderSite>();
      return true;
    case OpId::order_known:
      handler.template operator()<OrderKnown>();
      return true;
    case OpId::order_host:
      handler.template operator()<OrderHost>();
      return true;
    case OpId::order_unasked:
      handler.template operator()<OrderUnasked>();
      return true;
    case OpId::known:
      handler.template operator()<Known>();
      return true;
    case OpId::allocate:
      handler.template operator()<Allocate>();
      return true;
    case OpId::free:
      handler.template operator()<Free>();
      return true;
    case OpId::copy_h2d:
      handler.template operator()<CopyH2d>();
      return true;
    case OpId::copy_d2h:
      handler.template operator()<CopyD2h>();
      return true;
    case OpId::copy_d2d:
      handler.template operator()<CopyD2d>();
      return true;
    case OpId::copy_2d:
      handler.template operator()<Copy2d>();
      return true;
    case OpId::fill:
      handler.template operator()<Fill>();
      return true;
    case OpId::memory_info:
      handler.template operator()<MemoryInfo>();
      return true;
    case OpId::copy_h2d_pinned:
      handler.template operator()<CopyH2dPinned>();
      return true;
    case OpId::copy_d2h_pinned:
      handler.template operator()<CopyD2hPinned>();
      return true;
    case OpId::host_register:
      handler.template operator()<HostRegister>();
      return true;
    case OpId::host_unregister:
      handler.template operator()<HostUnregister>();
      return true;
    case OpId::memory_hold:
      handler.template operator()<MemoryHold>();
      return true;
    case OpId::memory_map:
      handler.template operator()<MemoryMap>();
      return true;
    case OpId::memory_drop:
      handler.template operator()<MemoryDrop>();
      return true;
    case OpId::copy_3d:
      handler.template operator()<Copy3d>();
      return true;
    case OpId::stream_create:
      handler.template operator()<StreamCreate>();
      return true;
    case OpId::stream_destroy:
      handler.template operator()<StreamDestroy>();
      return true;
    case OpId::stream_synchronize:
      handler.template operator()<StreamSynchronize>();
      return true;
    case OpId::device_synchronize:
      handler.template operator()<DeviceSynchronize>();
      return true;
    case OpId::event_create:
      handler.template operator()<EventCreate>();
      return true;
    case OpId::event_destroy:
      handler.template operator()<EventDestroy>();
      return true;
    case OpId::event_record:
      handler.template operator()<EventRecord>();
      return true;
    case OpId::event_wait:
      handler.template operator()<EventWait>();
      return true;
    case OpId::event_synchronize:
      handler.template operator()<EventSynchronize>();
      return true;
    case OpId::event_elapsed:
      handler.template operator()<EventElapsed>();
      return true;
    case OpId::operator_call:
      handler.template operator()<OperatorCall>();
      return true;
    case OpId::operator_query:
      handler.template operator()<OperatorQuery>();
      return true;
    case OpId::kernel_launch:
      handler.template operator()<KernelLaunch>();
      return true;
    case OpId::communicator_create:
      handler.template operator()<CommunicatorCreate>();
      return true;
    case OpId::communicator_split:
      handler.template operator()<CommunicatorSplit>();
      return true;
    case OpId::communicator_destroy:
      handler.template operator()<CommunicatorDestroy>();
      return true;
    case OpId::collective:
      handler.template operator()<Collective>();
      return true;
    case OpId::communicator_abort:
      handler.template operator()<CommunicatorAbort>();
      return true;
    case OpId::matmul:
      handler.template operator()<Matmul>();
      return true;
    case OpId::blas_create:
      handler.template operator()<BlasCreate>();
      return true;
    case OpId::blas_destroy:
      handler.template operator()<BlasDestroy>();
      return true;
    case OpId::blas_set:
      handler.template operator()<BlasSet>();
      return true;
    case OpId::blas_call:
      handler.template operator()<BlasCall>();
      return true;
    case OpId::lt_heuristic:
      handler.template operator()<LtHeuristic>();
      return true;
    case OpId::lt_matmul:
      handler.template operator()<LtMatmul>();
      return true;
    case OpId::library_call:
      handler.template operator()<LibraryCall>();
      return true;
    case OpId::library_ask:
      handler.template operator()<LibraryAsk>();
      return true;
    case OpId::image_query:
      handler.template operator()<ImageQuery>();
      return true;
    case OpId::image_part:
      handler.template operator()<ImagePart>();
      return true;
    case OpId::module_load:
      handler.template operator()<ModuleLoad>();
      return true;
    case OpId::module_unload:
      handler.template operator()<ModuleUnload>();
      return true;
    case OpId::function_get:
      handler.template operator()<FunctionGet>();
      return true;
    case OpId::function_set:
      handler.template operator()<FunctionSet>();
      return true;
    case OpId::function_query:
      handler.template operator()<FunctionQuery>();
      return true;
    case OpId::variable_get:
      handler.template operator()<VariableGet>();
      return true;
    case OpId::tensor_map:
      handler.template operator()<TensorMap>();
      return true;
    case OpId::limit_set:
      handler.template operator()<LimitSet>();
      return true;
    case OpId::variable_alias:
      handler.template operator()<VariableAlias>();
      return true;
    case OpId::capture_begin:
      handler.template operator()<CaptureBegin>();
      return true;
    case OpId::capture_end:
      handler.template operator()<CaptureEnd>();
      return true;
    case OpId::graph_destroy:
      handler.template operator()<GraphDestroy>();
      return true;
    case OpId::graph_instantiate:
      handler.template operator()<GraphInstantiate>();
      return true;
    case OpId::graph_launch:
      handler.template operator()<GraphLaunch>();
      return true;
    case OpId::executable_destroy:
      handler.template operator()<ExecutableDestroy>();
      return true;
    case OpId::dnn_ask:
      handler.template operator()<DnnAsk>();
      return true;
    case OpId::dnn_call:
      handler.template operator()<DnnCall>();
      return true;
    case OpId::dnn_try:
      handler.template operator()<DnnTry>();
      return true;
    case OpId::dnn_plan_load:
      handler.template operator()<DnnPlanLoad>();
      return true;
    case OpId::dnn_plan_drop:
      handler.template operator()<DnnPlanDrop>();
      return true;
    case OpId::dnn_execute:
      handler.template operator()<DnnExecute>();
      return true;
    case OpId::dnn_execute_try:
      handler.template operator()<DnnExecuteTry>();
      return true;
  }
  return false;
}

/// A handler made of several: each takes the ops of one type, and one with `const auto&` all others.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

/// Returns the op as an op of that type; null if it is another one. The record must be whole.
template <class Op>
const Op* as_if(const OpHeader& op) {
  return op.op == static_cast<uint16_t>(Op::kId) ? reinterpret_cast<const Op*>(&op) : nullptr;
}

/// Calls handler(op) with the op as what it is. The record must be whole.
template <class Handler>
bool visit(const OpHeader& op, Handler&& handler) {
  return with_type(static_cast<OpId>(op.op),
                   [&]<class Op>() { handler(reinterpret_cast<const Op&>(op)); });
}

}  // namespace jitc::ops
