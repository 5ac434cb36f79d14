// Descriptors of the graph API as callers handle them: made, filled, finalized, read. See graph_nodes.h.
#include <algorithm>

#include "functions.h"
#include "graph_nodes.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
void finalize(Node& node) {
  switch (node.type) {
    case kTensor:
      return finalize_tensor(node);
    case kConvolution:
      return finalize_convolution(node);
    case kConvolutionForward:
    case kConvolutionData:
    case kConvolutionFilter:
    case kOperationPointwise:
      return finalize_operation(node);
    case kGraph:
      return finalize_graph(node);
    case kHeuristics:
      return finalize_heuristics(node);
    case kEngine:
      return finalize_engine(node);
    case kEngineConfig:
      return finalize_config(node);
    case kPlan:
      return finalize_plan(node);
    case kVariantPack:
      return finalize_pack(node);
    default:
      return;
  }
}

bool fits(const Rule& rule, const Node& child) {
  return rule.child >= 0 ? child.type == rule.child : !child.operations.empty() && child.type != kGraph;
}

/// A finalized descriptor that the rule allows.
NodePointer child_of(const Rule& rule, const void* address) {
  auto child = object<Node>(address);
  require(child->finalized, "a descriptor that is not finalized", kDnnNotFinalized);
  require(fits(rule, *child), "a descriptor of another kind");
  return child;
}

Attribute copied(const Rule& rule, int type, size_t count, const void* values) {
  Attribute out{type, count};
  const auto* bytes = static_cast<const std::byte*>(values);
  out.bytes.assign(bytes, bytes + count * size_of(type));
  if (type != kTypeDescriptor && type != kTypeHandle) return out;
  for (size_t each = 0; each < count; ++each) {
    void* address = nullptr;
    std::memcpy(&address, bytes + each * sizeof address, sizeof address);
    type == kTypeHandle ? void(object<DnnHandle>(address)) : out.nodes.push_back(child_of(rule, address));
  }
  return out;
}

/// Fills the caller's descriptors, which must be of the right kind.
void give_nodes(const Attribute& from, size_t count, void* const* to) {
  for (size_t each = 0; each < count; ++each)
    require(object<Node>(to[each])->type == from.nodes[each]->type, "a descriptor of another kind");
  for (size_t each = 0; each < count; ++each) replace(to[each], std::make_shared<Node>(*from.nodes[each]));
}

size_t give(CallLine& line, const Attribute& from, int type, int64_t requested, void* values) {
  if (!values) return from.count;  // the caller wants to know how many there are
  const size_t count = std::min(from.count, static_cast<size_t>(requested));
  if (count == 0) return 0;
  if (type == kTypeDescriptor) {
    give_nodes(from, count, static_cast<void* const*>(values));
    line.add(Field::bytes("values", values, count * sizeof(void*)));
  } else {
    std::memcpy(values, from.bytes.data(), count * size_of(type));
    line.add(Field::bytes("values", values, count * size_of(type)));
  }
  return count;
}
}  // namespace

int cudnnBackendCreateDescriptor(int type, void** out) {
  return dnn_call("cudnnBackendCreateDescriptor", std::tuple(type), [&](CallLine& line) {
    require(known_node(type), "a descriptor that is not supported", kDnnNotSupported);
    *given(out) = keep(std::make_shared<Node>(type));
    line.add(Field::address("out", *out));
  });
}

int cudnnBackendDestroyDescriptor(void* descriptor) {
  return destroy<Node>("cudnnBackendDestroyDescriptor", descriptor);
}

int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, int64_t count, const void* values) {
  const std::tuple shown(descriptor, attribute, type, count);
  return dnn_call("cudnnBackendSetAttribute", shown, [&](CallLine& line) {
    const auto node = object<Node>(descriptor);
    require(!node->finalized, "the descriptor is finalized");
    const Rule& rule = rule_of(node->type, attribute);
    require(rule.settable, "an attribute that is only read");
    check_type(rule, type);
    require(count >= rule.least && count <= rule.most, "a wrong number of elements", kDnnTooSmall);
    const auto size = static_cast<size_t>(count);
    if (size) line.add(Field::bytes("values", given(values), size * size_of(type)));
    node->attributes[attribute] = copied(rule, type, size, values);
  });
}

int cudnnBackendGetAttribute(void* descriptor, int attribute, int type, int64_t requested, int64_t* count,
                             void* values) {
  const std::tuple shown(descriptor, attribute, type, requested);
  return dnn_call("cudnnBackendGetAttribute", shown, [&](CallLine& line) {
    const auto node = object<Node>(descriptor);
    require(node->finalized, "the descriptor is not finalized", kDnnNotInitialized);
    const Rule& rule = rule_of(node->type, attribute);
    check_type(rule, type);
    require(requested >= 0, "a negative number of elements");
    const auto found = node->attributes.find(attribute);
    const Attribute nothing{type};
    const Attribute& from = found == node->attributes.end() ? nothing : found->second;
    require(from.count == 0 || from.type == type, "an attribute of another type", kDnnAttributeType);
    const size_t there = give(line, from, type, requested, values);
    line.add(Field::count("count", there));
    if (count) *count = static_cast<int64_t>(there);
  });
}

int cudnnBackendFinalize(void* descriptor) {
  return dnn_call("cudnnBackendFinalize", std::tuple(descriptor), [&](CallLine&) {
    const auto node = object<Node>(descriptor);
    require(!node->finalized, "the descriptor is finalized");
    for (const Rule& rule : all_rules())
      require(rule.node != node->type || !rule.required || node->attributes.contains(rule.attribute),
              "an attribute was not set");
    finalize(*node);
    if (node->type == kTensor && !node->attributes.contains(kTensorByValue))
      node->put<uint8_t>(kTensorByValue, kTypeBoolean, {0});
    node->finalized = true;
  });
}

}  // namespace jitc::fakes
