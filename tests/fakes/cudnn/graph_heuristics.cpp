// Engines, their configurations and the plans made of them. There are four engines: 7, whose plans cannot be
// made; 3, whose plans cannot be run; 1, which has a knob and a workspace and adds from the last term on; and
// 0, which adds in order and needs nothing. Heuristics give them in this order. See graph_nodes.h.
#include <algorithm>
#include <string>

#include "graph_nodes.h"

namespace jitc::fakes {
namespace {
constexpr int64_t kNoPlan = 7, kNoRun = 3, kWithKnob = 1, kPlain = 0;
constexpr int64_t kOrder[] = {kNoPlan, kNoRun, kWithKnob, kPlain};
constexpr int kKnobSplitK = 0;
constexpr int64_t kKnobUsual = 2, kKnobMost = 4;
constexpr int64_t kWorkspacePerKnob = 2048;
constexpr int kHeuristicModes = 4;

std::shared_ptr<Node> finalized(int type) {
  auto node = std::make_shared<Node>(type);
  node->finalized = true;
  return node;
}

NodePointer knob_info() {
  auto info = finalized(kKnobInfo);
  info->put<int>(kInfoKnob, kTypeKnob, {kKnobSplitK});
  info->put<int64_t>(kInfoLeast, kTypeInt64, {0});
  info->put<int64_t>(kInfoMost, kTypeInt64, {kKnobMost});
  info->put<int64_t>(kInfoStep, kTypeInt64, {1});
  return info;
}

NodePointer usual_choice() {
  auto choice = finalized(kKnobChoice);
  choice->put<int>(kChoiceKnob, kTypeKnob, {kKnobSplitK});
  choice->put<int64_t>(kChoiceValue, kTypeInt64, {kKnobUsual});
  return choice;
}

NodePointer config(const NodePointer& graph, int64_t index) {
  auto engine = finalized(kEngine);
  engine->put_nodes(kEngineGraph, {graph});
  engine->put<int64_t>(kEngineIndex, kTypeInt64, {index});
  finalize_engine(*engine);
  auto out = finalized(kEngineConfig);
  out->put_nodes(kConfigEngine, {engine});
  if (index == kWithKnob) out->put_nodes(kConfigKnobs, {usual_choice()});
  return out;
}

int64_t index_of(const Node& config) { return config.child(kConfigEngine).one<int64_t>(kEngineIndex, 0); }

/// What the configuration has chosen, else the usual value.
int64_t knob_of(const Node& config) {
  const auto found = config.attributes.find(kConfigKnobs);
  if (found == config.attributes.end() || found->second.nodes.empty()) return kKnobUsual;
  return found->second.nodes.back()->one<int64_t>(kChoiceValue, kKnobUsual);
}
}  // namespace

void finalize_heuristics(Node& node) {
  const int mode = node.one<int>(kHeuristicsMode, -1);
  require(mode >= 0 && mode < kHeuristicModes, "no such mode");
  std::vector<NodePointer> results;
  for (const int64_t each : kOrder)
    results.push_back(config(node.attributes.at(kHeuristicsGraph).nodes.at(0), each));
  node.put_nodes(kHeuristicsResults, std::move(results));
}

void finalize_engine(Node& node) {
  const auto index = node.one<int64_t>(kEngineIndex, -1);
  require(std::ranges::count(kOrder, index) == 1, "an engine that there is not", kDnnNotSupported);
  if (index == kWithKnob) node.put_nodes(kEngineKnobs, {knob_info()});
}

void finalize_config(Node& node) {
  const auto found = node.attributes.find(kConfigKnobs);
  if (found == node.attributes.end()) return;
  for (const NodePointer& each : found->second.nodes) {
    require(index_of(node) == kWithKnob && each->one<int>(kChoiceKnob, -1) == kKnobSplitK,
            "a knob that the engine does not have");
    const auto value = each->one<int64_t>(kChoiceValue, -1);
    require(value >= 0 && value <= kKnobMost, "a value that the knob does not have");
  }
}

void finalize_plan(Node& node) {
  const Node& config = node.child(kPlanConfig);
  const int64_t index = index_of(config);
  require(index != kNoPlan, "the engine cannot run this graph", kDnnNotSupported);
  const int64_t workspace = index == kWithKnob ? kWorkspacePerKnob * knob_of(config) : 0;
  node.put<int64_t>(kPlanWorkspace, kTypeInt64, {workspace});
  const std::string json = "{\"engine\": " + std::to_string(index) + "}";
  node.put<char>(kPlanJson, kTypeChar, {json.begin(), json.end()});
}

Engine engine_of(const Node& plan) {
  const int64_t index = index_of(plan.child(kPlanConfig));
  return {index, index == kWithKnob, index != kNoRun};
}

const std::vector<Operation>& operations_of(const Node& plan) {
  return plan.child(kPlanConfig).child(kConfigEngine).child(kEngineGraph).operations;
}

}  // namespace jitc::fakes
