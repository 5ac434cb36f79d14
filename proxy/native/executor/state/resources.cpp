// The table: what each resource op does to it. Graphs: resource_graphs.cpp; packed form: resource_pack.cpp.
#include "resources.h"

#include "executor/journal/wire.h"
#include "jitc/generated_op_traits.h"

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

bool completes_synchronously(const ops::OpInfo& info) {
  const ops::Making making = ops::traits(info).making;
  return making == ops::Making::synchronous || making == ops::Making::synchronous_and_again;
}

void ResourceTable::apply(const ops::OpHeader& op, uint32_t status, Result result) {
  const auto id = static_cast<ops::OpId>(op.op);
  if (id == ops::OpId::capture_begin || !captures_.empty()) capture(op);
  if (id == ops::OpId::capture_end) return end_capture(as<ops::CaptureEnd>(op), status);
  if (status != 0) return;
  ops::visit(op, [&]<class Op>(const Op& one) {
    if constexpr (ops::traits(Op::kId).result_is_state)
      on(one, result);
    else if constexpr (ops::info(Op::kId).resource && Op::kId != ops::OpId::capture_end)
      on(one);
    else if constexpr (ops::traits(Op::kId).window == ops::Window::collective ||
                       ops::traits(Op::kId).window == ops::Window::launched_collective)
      on(one);
  });
}

void ResourceTable::on(const ops::Allocate& op) {
  allocations_[op.address] = {op.address, op.bytes, op.header.sequence};
}
void ResourceTable::on(const ops::Free& op) { allocations_.erase(op.address); }
void ResourceTable::on(const ops::MemoryHold& op) { held_[op.handle] = {op.handle, op.bytes}; }
void ResourceTable::on(const ops::MemoryDrop& op) { held_.erase(op.handle); }
void ResourceTable::on(const ops::MemoryMap& op) {
  const auto found = held_.find(op.handle);
  if (found == held_.end()) return;
  allocations_[op.address] = {op.address, found->second.bytes, op.header.sequence};
  held_.erase(found);
}
void ResourceTable::on(const ops::HostRegister& op) { host_ranges_[op.address] = {op.address, op.bytes}; }
void ResourceTable::on(const ops::HostUnregister& op) { host_ranges_.erase(op.address); }

void ResourceTable::on(const ops::StreamCreate& op) {
  streams_[op.handle] = {op.handle, op.flags, op.priority};
}
void ResourceTable::on(const ops::StreamDestroy& op) { streams_.erase(op.handle); }
void ResourceTable::on(const ops::EventCreate& op) { events_[op.handle] = {op.handle, op.flags}; }
void ResourceTable::on(const ops::EventDestroy& op) { events_.erase(op.handle); }

void ResourceTable::on(const ops::CommunicatorCreate& op) {
  communicators_[op.handle] = {op.handle, op.ranks, op.rank, op.unique_id};
  communications_.join(op);
}
void ResourceTable::on(const ops::CommunicatorSplit& op) {
  if (op.color >= 0) communicators_[op.handle] = {op.handle, 0, 0, {}};
  communications_.split(op);
}
void ResourceTable::on(const ops::CommunicatorDestroy& op) {
  communicators_.erase(op.handle);
  communications_.leave(op.handle);
}
void ResourceTable::on(const ops::CommunicatorAbort& op) {
  communicators_.erase(op.handle);
  communications_.leave(op.handle);
}
void ResourceTable::on(const ops::Collective& op) {
  if (!captured_on(wire::stream_of(op.header))) communications_.count(items_of(op));
}
void ResourceTable::on(const ops::GraphLaunch& op) {
  const auto found = executables_.find(op.executable);
  if (found == executables_.end()) return;
  CapturedCollectives* const capture = captured_on(wire::stream_of(op.header));
  const auto& collectives = found->second.ops->collectives;
  capture ? capture->add(collectives) : communications_.count(collectives);
}

void ResourceTable::learn_ranks(const Backend& backend) {
  for (const uint64_t handle : communications_.without_rank()) {
    Resources::Communicator one{};
    if (backend.communicator(handle, one)) communications_.learn_rank(handle, one.rank);
  }
}

void ResourceTable::learn_rank(uint64_t communicator, Result result) {
  int32_t told[2];  // ranks, rank
  if (result.size() < sizeof(told)) return;
  std::memcpy(told, result.data(), sizeof(told));
  communications_.learn_rank(communicator, told[1]);
}

void ResourceTable::on(const ops::ModuleLoad& op) { modules_[op.module] = {op.module, op.hash, op.bytes}; }
void ResourceTable::on(const ops::ModuleUnload& op) {
  modules_.erase(op.module);
  std::erase_if(functions_, [&](const auto& one) { return one.second.module == op.module; });
  std::erase_if(variables_, [&](const auto& one) { return one.second.module == op.module; });
}
void ResourceTable::on(const ops::FunctionGet& op) {
  functions_[op.function] = {op.function, op.module, wire::name_of(op), {}};
}
void ResourceTable::on(const ops::FunctionSet& op) {
  const auto found = functions_.find(op.function);
  if (found != functions_.end()) found->second.attributes[op.attribute] = op.value;
}
void ResourceTable::on(const ops::VariableGet& op, Result result) {
  Resources::Variable found{op.module, wire::name_of(op), 0, 0};
  if (result.size() != sizeof(found.address) + sizeof(found.bytes)) return;
  std::memcpy(&found.address, result.data(), sizeof(found.address));
  std::memcpy(&found.bytes, result.data() + sizeof(found.address), sizeof(found.bytes));
  variables_[{found.module, found.name}] = found;
}

void ResourceTable::on(const ops::BlasCreate& op) { blas_[op.handle] = {op.handle, 0, 0, 0, 0, 0}; }
void ResourceTable::on(const ops::BlasDestroy& op) { blas_.erase(op.handle); }
void ResourceTable::on(const ops::BlasSet& op) {
  const auto found = blas_.find(op.handle);
  if (found == blas_.end()) return;
  Resources::Blas& blas = found->second;
  switch (static_cast<ops::BlasField>(op.field)) {
    case ops::BlasField::math_mode:
      blas.math_mode = op.mode;
      return;
    case ops::BlasField::pointer_mode:
      blas.pointer_mode = op.mode;
      return;
    case ops::BlasField::atomics_mode:
      blas.atomics_mode = op.mode;
      return;
    case ops::BlasField::workspace:
      blas.workspace = op.address;
      blas.workspace_bytes = op.bytes;
      return;
  }
}

void ResourceTable::on(const ops::DnnPlanLoad& op) { dnn_plans_[op.plan] = {op.plan, op.hash, op.bytes}; }
void ResourceTable::on(const ops::DnnPlanDrop& op) { dnn_plans_.erase(op.plan); }

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
  std::map<uint64_t, uint64_t> names;
  for (const auto& one : resources.communicators)
    if (one.name) names[one.handle] = one.name;
  communications_.reset(resources.tally, names);
}

Resources ResourceTable::list(const Backend& backend) const {
  Resources resources;
  resources.allocations = values(allocations_);
  resources.streams = values(streams_);
  resources.events = values(events_);
  for (const auto& [handle, known] : communicators_) {
    Resources::Communicator one = known;
    const bool known_there = backend.communicator(handle, one);
    one.name = communications_.name_of(handle);
    if (known_there || known.ranks) resources.communicators.push_back(one);
  }
  resources.tally = communications_.tally();
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
