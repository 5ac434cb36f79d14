// The table: effects of resource ops on it. Graphs: resource_graphs.cpp; packed form: resource_pack.cpp.
#include "resources.h"

#include "executor/journal/wire.h"
#include "jitc/generated_op_traits.h"
#include "values.h"

namespace jitc {
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
      modules_.on(one, result);
    else if constexpr (requires { modules_.on(one); })
      modules_.on(one);
    else if constexpr (requires { communications_.on(one); })
      communications_.on(one);
    else if constexpr ((ops::info(Op::kId).resource && Op::kId != ops::OpId::capture_end) ||
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

void ResourceTable::on(const ops::GraphLaunch& op) {
  const auto found = executables_.find(op.executable);
  if (found != executables_.end()) communications_.launch(op.header, found->second.ops->collectives);
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
  for (const auto& one : resources.graphs) graphs_[one.handle] = one;
  for (const auto& one : resources.executables) executables_[one.handle] = one;
  for (const auto& one : resources.blas) blas_[one.handle] = one;
  for (const auto& one : resources.host_ranges) host_ranges_[one.address] = one;
  for (const auto& one : resources.held) held_[one.handle] = one;
  for (const auto& one : resources.dnn_plans) dnn_plans_[one.handle] = one;
  modules_.reset(resources);
  communications_.reset(resources);
  for (const auto& one : resources.captures) resume_capture(one);
}

Resources ResourceTable::list(const Backend& backend) const {
  Resources resources;
  resources.allocations = values(allocations_);
  resources.streams = values(streams_);
  resources.events = values(events_);
  resources.communicators = communications_.list(backend);
  resources.tally = communications_.tally();
  modules_.list(resources);
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
