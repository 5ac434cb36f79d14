// Graphs in the resource table: the ops of a capture are copied as they come, and form the graph.
#include <algorithm>

#include "base/checksum.h"
#include "executor/journal/wire.h"
#include "jitc/generated_op_traits.h"
#include "jitc/limits.h"
#include "resources.h"

namespace jitc {
namespace {
using ops::OpId;

std::span<const std::byte> record_of(const ops::OpHeader& op) {
  return {reinterpret_cast<const std::byte*>(&op), op.size};
}

ops::BlasSet setting(const ops::OpHeader& header, uint64_t handle, ops::BlasField field) {
  ops::BlasSet set;
  set.header = header;
  set.header.size = sizeof(set);
  set.header.op = static_cast<uint16_t>(OpId::blas_set);
  set.handle = handle;
  set.field = static_cast<uint32_t>(field);
  return set;
}

/// Adds the settings of a cuBLAS handle, as ops: calls in the graph use them, also when it is recreated.
void add_settings(Resources::Content& content, const ops::OpHeader& begin, const Resources::Blas& blas) {
  using ops::BlasField;
  const auto add = [&](BlasField field, int32_t mode) {
    ops::BlasSet set = setting(begin, blas.handle, field);
    set.mode = mode;
    content.add(record_of(set.header));
  };
  add(BlasField::math_mode, blas.math_mode);
  add(BlasField::pointer_mode, blas.pointer_mode);
  add(BlasField::atomics_mode, blas.atomics_mode);
  ops::BlasSet set = setting(begin, blas.handle, BlasField::workspace);
  set.address = blas.workspace;
  set.bytes = blas.workspace_bytes;
  content.add(record_of(set.header));
}
}  // namespace

void ResourceTable::capture(const ops::OpHeader& op) {
  const auto id = static_cast<OpId>(op.op);
  if (id == OpId::capture_begin) {
    const auto content = std::make_shared<Resources::Content>();
    content->add(record_of(op));
    for (const auto& [handle, blas] : blas_) add_settings(*content, op, blas);
    graph_bytes_ = graph_bytes();
    captures_[wire::stream_of(op)] = content;
    communications_.begin_capture(wire::stream_of(op));
    return;
  }
  communications_.see(op);
  if (!ops::traits(id).capturable) return;
  uint64_t all = graph_bytes_;
  for (const auto& [stream, content] : captures_) {
    all += content->bytes;
    if (id == OpId::capture_end && stream != wire::stream_of(op)) continue;
    if (content->bytes + op.size > kMostCaptured || all > limits::kGraphBytes) overflown_ = true;
    if (!overflown_) content->add(record_of(op));
  }
}

void ResourceTable::resume_capture(const Resources::Capture& open) {
  captures_[open.stream] = std::make_shared<Resources::Content>(*open.ops);
  communications_.resume_capture(open, [this](uint64_t executable) {
    const auto found = executables_.find(executable);
    return found == executables_.end() ? std::span<const ops::CollectiveItem>{}
                                       : std::span<const ops::CollectiveItem>(found->second.ops->collectives);
  });
}

void ResourceTable::end_capture(const ops::CaptureEnd& op, uint32_t status) {
  const auto found = captures_.find(wire::stream_of(op.header));
  if (found == captures_.end()) return;
  const auto content = found->second;
  captures_.erase(found);
  content->collectives = communications_.end_capture(wire::stream_of(op.header));
  if (status != 0) return;
  keep(*content);
  graphs_[op.graph] = {op.graph, content};
}

/// Stores the packed form in the images, so that every boundary from now on only names it.
void ResourceTable::keep(Resources::Content& content) const {
  std::vector<std::byte> packed;
  for (const auto& op : content.ops) packed.insert(packed.end(), op.begin(), op.end());
  const ImageHash hash = hash_bytes(packed);
  if (!images_->keep(hash, packed)) return;
  content.kept = hash;
  content.kept_bytes = packed.size();
}

void ResourceTable::on(const ops::GraphDestroy& op) { graphs_.erase(op.graph); }
void ResourceTable::on(const ops::ExecutableDestroy& op) { executables_.erase(op.executable); }
void ResourceTable::on(const ops::GraphInstantiate& op) {
  const auto graph = graphs_.find(op.graph);
  if (graph != graphs_.end()) executables_[op.executable] = {op.executable, op.flags, graph->second.ops};
}

bool ResourceTable::has_collectives(uint64_t executable) const {
  const auto found = executables_.find(executable);
  return found != executables_.end() && !found->second.ops->collectives.empty();
}

}  // namespace jitc
