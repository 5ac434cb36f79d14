// The packed form of resources, as boundary records in the journal hold it (docs/journal.md).
#include <unordered_map>

#include "base/checksum.h"
#include "resources.h"

namespace jitc {
namespace {
using Bytes = std::span<const std::byte>;

/// Contents of graphs, each once: graphs and executables name them by their place in the list.
class Contents {
 public:
  explicit Contents(const Resources& resources) {
    for (const auto& one : resources.graphs) add(one.ops);
    for (const auto& one : resources.executables) add(one.ops);
    for (const auto& one : resources.captures) add(one.ops);
  }
  uint64_t place_of(const Resources::Captured& ops) const {
    const auto found = places_.find(ops.get());
    return found == places_.end() ? list_.size() : found->second;
  }
  void pack(Packer& packer) const {
    packer.put<uint64_t>(list_.size());
    for (const Resources::Content* const content : list_) pack(packer, *content);
  }

 private:
  void add(const Resources::Captured& ops) {
    if (places_.emplace(ops.get(), list_.size()).second) list_.push_back(ops.get());
  }
  static void pack(Packer& packer, const Resources::Content& content) {
    packer.put(content.kept);
    packer.put(content.kept_bytes);
    packer.put_all(content.collectives);
    if (content.kept != kNoHash) return;
    packer.put<uint64_t>(content.ops.size());
    for (const auto& op : content.ops) packer.put_bytes(op);
  }

  std::vector<const Resources::Content*> list_;
  std::unordered_map<const Resources::Content*, uint64_t> places_;
};

void check_op(Bytes op) {
  if (op.size() < sizeof(ops::OpHeader) || op.size() > ops::kMaximumRecord)
    throw Error("a graph in the journal is damaged");
  const auto& header = *reinterpret_cast<const ops::OpHeader*>(op.data());
  const ops::OpInfo* const info = ops::find(header.op);
  if (!info || header.size != op.size() || op.size() < info->fixed_size)
    throw Error("a graph in the journal is damaged");
}

void add_op(Resources::Content& content, Bytes op) {
  content.add(op);
  check_op(content.ops.back());
}

/// Reads a content of which the journal has only the name.
void read_kept(Resources::Content& content, ImageSource& images) {
  std::string error;
  Bytes rest = images.image(content.kept, content.kept_bytes, error);
  if (!error.empty()) throw Error("a graph of this session is lost: " + error);
  while (!rest.empty()) {
    uint32_t size = 0;
    if (rest.size() >= sizeof(ops::OpHeader)) std::memcpy(&size, rest.data(), sizeof(size));
    if (size < sizeof(ops::OpHeader) || size > rest.size()) throw Error("a graph in the journal is damaged");
    add_op(content, rest.first(size));
    rest = rest.subspan(size);
  }
}

std::vector<Resources::Captured> unpack_contents(Unpacker& unpacker, ImageSource* images) {
  std::vector<Resources::Captured> list;
  for (auto left = unpacker.get_count(); left; --left) {
    const auto content = std::make_shared<Resources::Content>();
    content->kept = unpacker.get<ImageHash>();
    content->kept_bytes = unpacker.get<uint64_t>();
    content->collectives = unpacker.get_all<ops::CollectiveItem>();
    if (content->kept != kNoHash && images)
      read_kept(*content, *images);
    else if (content->kept == kNoHash)
      for (auto ops = unpacker.get_count(); ops; --ops) add_op(*content, unpacker.get_bytes());
    list.push_back(content);
  }
  return list;
}

void pack_functions(Packer& packer, const Resources& resources) {
  packer.put<uint64_t>(resources.functions.size());
  for (const auto& one : resources.functions) {
    packer.put(one.handle);
    packer.put(one.module);
    packer.put_text(one.name);
    packer.put<uint64_t>(one.attributes.size());
    for (const auto& [attribute, value] : one.attributes) {
      packer.put(attribute);
      packer.put(value);
    }
  }
}

void unpack_functions(Unpacker& unpacker, Resources& resources) {
  for (auto left = unpacker.get_count(); left; --left) {
    Resources::Function one{unpacker.get<uint64_t>(), unpacker.get<uint64_t>(), unpacker.get_text(), {}};
    for (auto set = unpacker.get_count(); set; --set) {
      const auto attribute = unpacker.get<int32_t>();
      one.attributes[attribute] = unpacker.get<int32_t>();
    }
    resources.functions.push_back(std::move(one));
  }
}

void pack_variables(Packer& packer, const Resources& resources) {
  packer.put<uint64_t>(resources.variables.size());
  for (const auto& one : resources.variables) {
    packer.put(one.module);
    packer.put_text(one.name);
    packer.put(one.address);
    packer.put(one.bytes);
  }
}

void unpack_variables(Unpacker& unpacker, Resources& resources) {
  for (auto left = unpacker.get_count(); left; --left) {
    Resources::Variable one{unpacker.get<uint64_t>(), unpacker.get_text(), 0, 0};
    one.address = unpacker.get<uint64_t>();
    one.bytes = unpacker.get<uint64_t>();
    resources.variables.push_back(std::move(one));
  }
}

void pack_graphs(Packer& packer, const Resources& resources) {
  const Contents contents(resources);
  contents.pack(packer);
  packer.put<uint64_t>(resources.graphs.size());
  for (const auto& one : resources.graphs) {
    packer.put(one.handle);
    packer.put(contents.place_of(one.ops));
  }
  packer.put<uint64_t>(resources.executables.size());
  for (const auto& one : resources.executables) {
    packer.put(one.handle);
    packer.put(one.flags);
    packer.put(contents.place_of(one.ops));
  }
  packer.put<uint64_t>(resources.captures.size());
  for (const auto& one : resources.captures) {
    packer.put(one.stream);
    packer.put(contents.place_of(one.ops));
  }
}

void unpack_graphs(Unpacker& unpacker, Resources& resources, ImageSource* images) {
  const auto contents = unpack_contents(unpacker, images);
  const auto content = [&] {
    const auto place = unpacker.get<uint64_t>();
    if (place >= contents.size()) throw Error("a graph in the journal is damaged");
    return contents[place];
  };
  for (auto left = unpacker.get_count(); left; --left) {
    const auto handle = unpacker.get<uint64_t>();
    resources.graphs.push_back({handle, content()});
  }
  for (auto left = unpacker.get_count(); left; --left) {
    const auto handle = unpacker.get<uint64_t>(), flags = unpacker.get<uint64_t>();
    resources.executables.push_back({handle, flags, content()});
  }
  for (auto left = unpacker.get_count(); left; --left) {
    const auto stream = unpacker.get<uint64_t>();
    resources.captures.push_back({stream, content()});
  }
}
}  // namespace

void pack(Packer& packer, const Resources& resources) {
  packer.put_all(resources.allocations);
  packer.put_all(resources.streams);
  packer.put_all(resources.events);
  packer.put_all(resources.communicators);
  packer.put_all(resources.modules);
  pack_functions(packer, resources);
  pack_variables(packer, resources);
  packer.put_all(resources.blas);
  pack_graphs(packer, resources);
  packer.put_all(resources.host_ranges);
  packer.put_all(resources.held);
  packer.put_all(resources.dnn_plans);
  packer.put_all(resources.limits);
  packer.put_all(resources.tally.memberships);
  packer.put_all(resources.tally.exchanges);
}

Resources unpack_resources(Unpacker& unpacker, ImageSource* images) {
  Resources resources;
  resources.allocations = unpacker.get_all<Resources::Allocation>();
  resources.streams = unpacker.get_all<Resources::Stream>();
  resources.events = unpacker.get_all<Resources::Event>();
  resources.communicators = unpacker.get_all<Resources::Communicator>();
  resources.modules = unpacker.get_all<Resources::Module>();
  unpack_functions(unpacker, resources);
  unpack_variables(unpacker, resources);
  resources.blas = unpacker.get_all<Resources::Blas>();
  unpack_graphs(unpacker, resources, images);
  resources.host_ranges = unpacker.get_all<Resources::HostRange>();
  resources.held = unpacker.get_all<Resources::Held>();
  resources.dnn_plans = unpacker.get_all<Resources::DnnPlan>();
  resources.limits = unpacker.get_all<Resources::Limit>();
  resources.tally.memberships = unpacker.get_all<Membership>();
  resources.tally.exchanges = unpacker.get_all<Exchange>();
  return resources;
}

void add_images(const Resources& resources, std::set<ImageHash>& needed) {
  for (const auto& one : resources.modules) needed.insert(one.hash);
  for (const auto& one : resources.dnn_plans) needed.insert(one.hash);
  for (const auto& one : resources.graphs) needed.insert(one.ops->kept);
  for (const auto& one : resources.executables) needed.insert(one.ops->kept);
}

}  // namespace jitc
