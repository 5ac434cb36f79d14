// The table: what each resource op does to it. Graphs: resource_graphs.cpp; packed form: resource_pack.cpp.
#include "resources.h"

#include "executor/journal/wire.h"

namespace jitc {
namespace {
template <class Map>
auto values(const Map& map) {
  std::vector<typename Map::mapped_type> list;
  list.reserve(map.size());
  for (const auto& entry : map) list.push_back(entry.second);
  return list;
}
}  // namespace

bool answered_in_place(const ops::OpInfo& info) {
  using ops::OpId;
  const bool joins = info.id == OpId::communicator_create || info.id == OpId::communicator_split;
  return info.resource && info.waits && !joins;
}

void ResourceTable::apply(const ops::OpHeader& op, uint32_t status, Result result) {
  using ops::OpId;
  const auto id = static_cast<OpId>(op.op);
  if (id == OpId::capture_begin || !captures_.empty()) capture(op);
  if (id == OpId::capture_end) return end_capture(as<ops::CaptureEnd>(op), status);
  if (status != 0) return;
  switch (id) {
    case OpId::allocate:
    case OpId::free:
    case OpId::memory_hold:
    case OpId::memory_map:
    case OpId::memory_drop:
      return apply_memory(op);
    case OpId::host_register: {
      const auto& made = as<ops::HostRegister>(op);
      host_ranges_[made.address] = {made.address, made.bytes};
      return;
    }
    case OpId::host_unregister:
      host_ranges_.erase(as<ops::HostUnregister>(op).address);
      return;
    case OpId::stream_create: {
      const auto& made = as<ops::StreamCreate>(op);
      streams_[made.handle] = {made.handle, made.flags, made.priority};
      return;
    }
    case OpId::stream_destroy:
      streams_.erase(as<ops::StreamDestroy>(op).handle);
      return;
    case OpId::event_create: {
      const auto& made = as<ops::EventCreate>(op);
      events_[made.handle] = {made.handle, made.flags};
      return;
    }
    case OpId::event_destroy:
      events_.erase(as<ops::EventDestroy>(op).handle);
      return;
    case OpId::communicator_create:
    case OpId::communicator_split:
    case OpId::communicator_destroy:
      return apply_communicator(op);
    case OpId::module_load:
    case OpId::module_unload:
    case OpId::function_get:
    case OpId::function_set:
    case OpId::variable_get:
      return apply_module(op, result);
    case OpId::graph_destroy:
    case OpId::graph_instantiate:
    case OpId::executable_destroy:
      return apply_graph(op);
    case OpId::blas_create:
    case OpId::blas_destroy:
    case OpId::blas_set:
      return apply_blas(op);
    case OpId::dnn_plan_load: {
      const auto& made = as<ops::DnnPlanLoad>(op);
      dnn_plans_[made.plan] = {made.plan, made.hash, made.bytes};
      return;
    }
    case OpId::dnn_plan_drop:
      dnn_plans_.erase(as<ops::DnnPlanDrop>(op).plan);
      return;
    default:
      return;
  }
}

void ResourceTable::apply_memory(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::allocate: {
      const auto& made = as<ops::Allocate>(op);
      allocations_[made.address] = {made.address, made.bytes, op.sequence};
      return;
    }
    case OpId::free:
      allocations_.erase(as<ops::Free>(op).address);
      return;
    case OpId::memory_hold: {
      const auto& made = as<ops::MemoryHold>(op);
      held_[made.handle] = {made.handle, made.bytes};
      return;
    }
    case OpId::memory_map: {
      const auto& map = as<ops::MemoryMap>(op);
      const auto found = held_.find(map.handle);
      if (found == held_.end()) return;
      allocations_[map.address] = {map.address, found->second.bytes, op.sequence};
      held_.erase(found);
      return;
    }
    case OpId::memory_drop:
      held_.erase(as<ops::MemoryDrop>(op).handle);
      return;
    default:
      return;
  }
}

void ResourceTable::apply_communicator(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::communicator_create: {
      const auto& made = as<ops::CommunicatorCreate>(op);
      communicators_[made.handle] = {made.handle, made.ranks, made.rank, made.unique_id};
      return;
    }
    case OpId::communicator_split: {
      const auto& made = as<ops::CommunicatorSplit>(op);
      if (made.color >= 0) communicators_[made.handle] = {made.handle, 0, 0, {}};
      return;
    }
    case OpId::communicator_destroy:
      communicators_.erase(as<ops::CommunicatorDestroy>(op).handle);
      return;
    default:
      return;
  }
}

void ResourceTable::apply_module(const ops::OpHeader& op, Result result) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::module_load: {
      const auto& made = as<ops::ModuleLoad>(op);
      modules_[made.module] = {made.module, made.hash, made.bytes};
      return;
    }
    case OpId::module_unload:
      return unload(as<ops::ModuleUnload>(op).module);
    case OpId::function_get: {
      const auto& made = as<ops::FunctionGet>(op);
      functions_[made.function] = {made.function, made.module, wire::name_of(made), {}};
      return;
    }
    case OpId::function_set: {
      const auto& set = as<ops::FunctionSet>(op);
      const auto found = functions_.find(set.function);
      if (found != functions_.end()) found->second.attributes[set.attribute] = set.value;
      return;
    }
    case OpId::variable_get:
      return get_variable(as<ops::VariableGet>(op), result);
    default:
      return;
  }
}

void ResourceTable::unload(uint64_t module) {
  modules_.erase(module);
  std::erase_if(functions_, [&](const auto& one) { return one.second.module == module; });
  std::erase_if(variables_, [&](const auto& one) { return one.second.module == module; });
}

void ResourceTable::get_variable(const ops::VariableGet& op, Result result) {
  Resources::Variable found{op.module, wire::name_of(op), 0, 0};
  if (result.size() != sizeof(found.address) + sizeof(found.bytes)) return;
  std::memcpy(&found.address, result.data(), sizeof(found.address));
  std::memcpy(&found.bytes, result.data() + sizeof(found.address), sizeof(found.bytes));
  variables_[{found.module, found.name}] = found;
}

void ResourceTable::apply_blas(const ops::OpHeader& op) {
  using ops::OpId;
  switch (static_cast<OpId>(op.op)) {
    case OpId::blas_create: {
      const uint64_t handle = as<ops::BlasCreate>(op).handle;
      blas_[handle] = {handle, 0, 0, 0, 0, 0};
      return;
    }
    case OpId::blas_destroy:
      blas_.erase(as<ops::BlasDestroy>(op).handle);
      return;
    default:
      break;
  }
  const auto& set = as<ops::BlasSet>(op);
  const auto found = blas_.find(set.handle);
  if (found == blas_.end()) return;
  Resources::Blas& blas = found->second;
  switch (static_cast<ops::BlasField>(set.field)) {
    case ops::BlasField::math_mode:
      blas.math_mode = set.mode;
      return;
    case ops::BlasField::pointer_mode:
      blas.pointer_mode = set.mode;
      return;
    case ops::BlasField::atomics_mode:
      blas.atomics_mode = set.mode;
      return;
    case ops::BlasField::workspace:
      blas.workspace = set.address;
      blas.workspace_bytes = set.bytes;
      return;
  }
}

void ResourceTable::reset(const Resources& resources) {
  *this = ResourceTable(*images_);
  for (const auto& one : resources.allocations) allocations_[one.address] = one;
  for (const auto& one : resources.streams) streams_[one.handle] = one;
  for (const auto& one : resources.events) events_[one.handle] = one;
  for (const auto& one : resources.communicators) communicators_[one.handle] = one;
  for (const auto& one : resources.modules) modules_[one.handle] = one;
  for (const auto& one : resources.functions) functions_[one.handle] = one;
  for (const auto& one : resources.variables) variables_[{one.module, one.name}] = one;
  for (const auto& one : resources.graphs) graphs_[one.handle] = one;
  for (const auto& one : resources.executables) executables_[one.handle] = one;
  for (const auto& one : resources.blas) blas_[one.handle] = one;
  for (const auto& one : resources.host_ranges) host_ranges_[one.address] = one;
  for (const auto& one : resources.held) held_[one.handle] = one;
  for (const auto& one : resources.dnn_plans) dnn_plans_[one.handle] = one;
  for (const auto& one : resources.captures) resume_capture(one);
}

Resources ResourceTable::list(const Backend& backend) const {
  Resources resources;
  resources.allocations = values(allocations_);
  resources.streams = values(streams_);
  resources.events = values(events_);
  for (const auto& [handle, known] : communicators_) {
    Resources::Communicator one = known;
    if (backend.communicator(handle, one) || known.ranks) resources.communicators.push_back(one);
  }
  resources.modules = values(modules_);
  resources.functions = values(functions_);
  resources.variables = values(variables_);
  resources.graphs = values(graphs_);
  resources.executables = values(executables_);
  resources.blas = values(blas_);
  resources.host_ranges = values(host_ranges_);
  resources.held = values(held_);
  resources.dnn_plans = values(dnn_plans_);
  for (const auto& [stream, content] : captures_)
    resources.captures.push_back({stream, std::make_shared<const Resources::Content>(*content)});
  return resources;
}

}  // namespace jitc
