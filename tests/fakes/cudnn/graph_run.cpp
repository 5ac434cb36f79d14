// Plans of the graph API run: the operations one after the other, tensors between them kept apart from the
// caller's memory. See graph_nodes.h.
#include <algorithm>
#include <set>

#include "functions.h"
#include "graph_nodes.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
using Pointers = std::map<int64_t, uint64_t>;

Pointers pointers_of(const Node& pack) {
  const auto ids = pack.list<int64_t>(kPackIds);
  const auto addresses = pack.list<uint64_t>(kPackPointers);
  Pointers out;
  for (size_t each = 0; each < ids.size(); ++each) out[ids[each]] = addresses[each];
  return out;
}

/// A plan bound to the caller's memory. What is given by value is read when it is made.
class Run {
 public:
  Run(const Node& plan, const Node& pack)
      : operations_(operations_of(plan)),
        pointers_(pointers_of(pack)),
        backwards_(engine_of(plan).backwards) {
    for (const Operation& operation : operations_) {
      for (const GraphTensor& each : operation.inputs) bind(each);
      bind(operation.output);
    }
  }

  /// On a stream.
  void compute() const {
    std::map<int64_t, Numbers> known = by_value_;
    for (const Operation& operation : operations_) {
      std::vector<Numbers> inputs;
      for (const GraphTensor& each : operation.inputs) inputs.push_back(content(each, known));
      put(operation, operation.compute(inputs, backwards_), known);
    }
  }

 private:
  void bind(const GraphTensor& tensor) {
    if (tensor.is_virtual) return;
    const auto found = pointers_.find(tensor.id);
    require(found != pointers_.end(), "a tensor that the variant pack does not have");
    require(found->second != 0, "a null pointer", kDnnNullPointer);
    if (tensor.by_value)
      by_value_[tensor.id] = read_all(tensor.shape, reinterpret_cast<const std::byte*>(found->second));
    else
      require(found->second % static_cast<uint64_t>(tensor.alignment) == 0, "a pointer out of alignment",
              kDnnMisaligned);
  }

  Numbers content(const GraphTensor& tensor, const std::map<int64_t, Numbers>& known) const {
    const auto found = known.find(tensor.id);
    return found != known.end() ? found->second : read_at(tensor.shape, pointers_.at(tensor.id));
  }

  /// A virtual tensor is rounded to its type as one in memory is.
  void put(const Operation& operation, const Numbers& values, std::map<int64_t, Numbers>& known) const {
    const GraphTensor& to = operation.output;
    if (!to.is_virtual) return write_at(to.shape, pointers_.at(to.id), values, operation.blend);
    const Shape shape = packed(to.shape.type, to.shape.dims);
    std::vector<std::byte> memory(shape.bytes());
    write_all(shape, memory.data(), values, operation.blend);
    known[to.id] = read_all(shape, memory.data());
  }

  std::vector<Operation> operations_;
  Pointers pointers_;
  bool backwards_;
  std::map<int64_t, Numbers> by_value_ = {};
};

/// A finalized descriptor of the kind.
NodePointer finalized(const void* address, int type) {
  auto node = object<Node>(address);
  require(node->type == type, "a descriptor of another kind");
  require(node->finalized, "a descriptor that is not finalized", kDnnNotFinalized);
  return node;
}

void note_pack(CallLine& line, const Node& pack) {
  const auto ids = pack.list<int64_t>(kPackIds);
  const auto addresses = pack.list<uint64_t>(kPackPointers);
  line.add(Field::bytes("ids", ids.data(), ids.size() * sizeof ids[0]));
  line.add(Field::bytes("pointers", addresses.data(), addresses.size() * sizeof addresses[0]));
}
}  // namespace

void finalize_pack(Node& node) {
  const auto ids = node.list<int64_t>(kPackIds);
  require(ids.size() == node.list<void*>(kPackPointers).size(), "a pointer per tensor", kDnnTooSmall);
  require(std::set(ids.begin(), ids.end()).size() == ids.size(), "a tensor twice", kDnnDuplicated);
}

int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  return dnn_call("cudnnBackendExecute", std::tuple(handle, plan, pack), [&](CallLine& line) {
    const auto stream = object<DnnHandle>(handle);
    const auto what = finalized(plan, kPlan), where = finalized(pack, kVariantPack);
    const Engine engine = engine_of(*what);
    const auto workspace = where->one<uint64_t>(kPackWorkspace, 0);
    const auto size = static_cast<size_t>(what->one<int64_t>(kPlanWorkspace, 0));
    line.add(argument("engine", engine.index));
    line.add(Field::address("workspace", workspace));
    note_pack(line, *where);
    require(engine.runs, "the engine cannot run this graph", kDnnNotSupported);
    require(size == 0 || workspace != 0, "no workspace", kDnnNullPointer);
    submit(line, *stream, [run = Run(*what, *where), workspace, size] {
      use_workspace(workspace, size);
      run.compute();
    });
  });
}

}  // namespace jitc::fakes
