#include "boundary_state.h"

#include <algorithm>
#include <utility>

#include "executor/state/resources.h"

namespace jitc {

const LiveRow* row_of(std::span<const LiveRow> rows, const LiveRow& live) {
  const auto found = std::ranges::lower_bound(rows, live.block.ordinal, {},
                                              [](const LiveRow& row) { return row.block.ordinal; });
  return found != rows.end() && found->same_place(live) ? &*found : nullptr;
}

bool BoundaryState::whole() const {
  return std::ranges::all_of(rows, [](const LiveRow& row) { return row.copied() || !row.block.bytes; });
}

std::vector<std::byte> BoundaryState::pack() const {
  Packer packer;
  for (const uint64_t value : {number, sequence, position, own, between}) packer.put(value);
  for (const uint32_t value : {step_waits, step_collectives, step_allocations, measured}) packer.put(value);
  policy.pack(packer);
  jitc::pack(packer, resources);
  packer.put_all(rows);
  return packer.bytes();
}

BoundaryState BoundaryState::unpack(std::span<const std::byte> bytes, ImageSource* images) {
  Unpacker unpacker(bytes);
  BoundaryState state;
  for (uint64_t* const value : {&state.number, &state.sequence, &state.position, &state.own, &state.between})
    *value = unpacker.get<uint64_t>();
  for (uint32_t* const value :
       {&state.step_waits, &state.step_collectives, &state.step_allocations, &state.measured})
    *value = unpacker.get<uint32_t>();
  state.policy = Policy::unpack(unpacker);
  state.resources = unpack_resources(unpacker, images);
  state.rows = unpacker.get_all<LiveRow>();
  return state;
}

const Resources::Variable* unsettled_variable(const Resources& resources, const BoundaryState* base) {
  for (const auto& one : resources.variables) {
    const auto is_it = [&](const LiveRow& row) {
      return row.block.ordinal == (LiveRow::kVariable | one.address) && row.block.bytes == one.bytes;
    };
    if (!one.bytes) continue;
    if (!base) return &one;
    const auto row = std::ranges::find_if(base->rows, is_it);
    if (row == base->rows.end() || !row->settled()) return &one;
  }
  return nullptr;
}

void EarlierTables::add(BoundaryState state) {
  if (!state.measured) return;
  state.resources = {};
  for (LiveRow& row : state.rows) row.copy = LiveRow::kNoCopy;
  state.rows.shrink_to_fit();
  rows_ += state.rows.size();
  tables_.push_back(std::move(state));
  while (!tables_.empty() && (tables_.size() > kTables || rows_ > kRows)) {
    rows_ -= tables_.front().rows.size();
    tables_.pop_front();
  }
}

const BoundaryState* EarlierTables::find(uint64_t number) const {
  const auto found = std::ranges::find(tables_, number, &BoundaryState::number);
  return found == tables_.end() ? nullptr : &*found;
}

std::vector<std::byte> StepState::pack() const {
  Packer packer;
  packer.put(step);
  packer.put_all(rows);
  return packer.bytes();
}

StepState StepState::unpack(std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes);
  StepState state;
  state.step = unpacker.get<uint64_t>();
  state.rows = unpacker.get_all<LiveRow>();
  return state;
}

}  // namespace jitc
