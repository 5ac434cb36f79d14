// Descriptors of the graph API: attributes with their bytes, and what a finalized one means. Used by the
// graph_ files.
// Promises: a finalized node never changes, so that parents share it with the caller, who may destroy his.
#pragma once
#include <cstring>
#include <functional>
#include <map>
#include <span>

#include "call.h"
#include "tensor.h"

namespace jitc::fakes {

/// cudnnBackendDescriptorType_t, those that the fake knows.
enum NodeType : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristics = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kKnobInfo = 8,
  kConvolutionForward = 10,
  kConvolutionFilter = 11,
  kConvolutionData = 12,
  kOperationPointwise = 13,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
};

/// cudnnBackendAttributeType_t
enum ValueType : int {
  kTypeHandle = 0,
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypeDouble = 5,
  kTypePointer = 6,
  kTypeConvolutionMode = 7,
  kTypeHeuristicMode = 8,
  kTypeKnob = 9,
  kTypeNanPropagation = 10,
  kTypeNumericalNote = 11,
  kTypePointwiseMode = 14,
  kTypeDescriptor = 15,
  kTypeBehaviorNote = 19,
  kTypeReordering = 20,
  kTypeInt32 = 23,
  kTypeChar = 24,
};

/// cudnnBackendAttributeName_t
enum AttributeName : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kPointwiseNan = 2,
  kReluLowerClip = 3,
  kReluUpperClip = 4,
  kReluSlope = 5,
  kConvolutionType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionAfter = 104,
  kConvolutionBefore = 105,
  kConvolutionSpatial = 106,
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kHeuristicsProcessors = 203,
  kConfigEngine = 300,
  kConfigKnobs = 302,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kPlanJson = 405,
  kChoiceKnob = 600,
  kChoiceValue = 601,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kDataAlpha = 706,
  kDataBeta = 707,
  kDataConvolution = 708,
  kDataW = 709,
  kDataDx = 710,
  kDataDy = 711,
  kFilterAlpha = 712,
  kFilterBeta = 713,
  kFilterConvolution = 714,
  kFilterDw = 715,
  kFilterX = 716,
  kFilterDy = 717,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kPointwiseAlpha1 = 754,
  kPointwiseAlpha2 = 755,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kGraphEngines = 802,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorVectorCount = 904,
  kTensorVectorDim = 905,
  kTensorId = 906,
  kTensorVirtual = 907,
  kTensorByValue = 908,
  kTensorReordering = 909,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kInfoKnob = 1200,
  kInfoMost = 1201,
  kInfoLeast = 1202,
  kInfoStep = 1203,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineKnobs = 1302,
  kEngineNumericalNotes = 1303,
  kEngineBehaviorNotes = 1305,
  kEngineProcessors = 1306,
};

/// What an attribute must be like.
struct Rule {
  int node, attribute, type;
  bool required;
  int least = 1, most = 1;  // how many elements
  bool settable = true;
  int child = -1;  // the kind of descriptor; -1: an operation
};
/// Throws kDnnNotSupported. Scalars that may be floats or doubles, and are set as either, have the type
/// kTypeFloat.
const Rule& rule_of(int node, int attribute);
std::span<const Rule> all_rules();
bool known_node(int node);
/// Throws kDnnAttributeType: the attribute has another type.
void check_type(const Rule& rule, int type);
size_t size_of(int value_type);

struct Node;
using NodePointer = std::shared_ptr<const Node>;

struct Attribute {
  int type = 0;
  size_t count = 0;
  std::vector<std::byte> bytes = {};
  std::vector<NodePointer> nodes = {};
};

struct GraphTensor {
  Shape shape;
  int64_t id = 0, alignment = 1;
  bool is_virtual = false, by_value = false;
};

/// An operation of a graph: what it reads, and how its output comes of that.
struct Operation {
  std::vector<GraphTensor> inputs;
  GraphTensor output;
  Blend blend;
  std::function<Numbers(const std::vector<Numbers>& inputs, bool backwards)> compute;
};

struct Node : DnnObject {
  explicit Node(int node_type) : type(node_type) {}
  int type;
  bool finalized = false;
  std::map<int, Attribute> attributes = {};
  std::vector<Operation> operations = {};  // of an operation or graph, once finalized

  template <class T>
  std::vector<T> list(int attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    std::vector<T> out(found->second.bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), found->second.bytes.data(), out.size() * sizeof(T));
    return out;
  }
  template <class T>
  T one(int attribute, T otherwise) const {
    const auto values = list<T>(attribute);
    return values.empty() ? otherwise : values[0];
  }
  template <class T>
  void put(int attribute, int value_type, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    attributes[attribute] = {value_type, values.size(), {bytes.begin(), bytes.end()}};
  }
  void put_nodes(int attribute, std::vector<NodePointer> nodes) {
    attributes[attribute] = {kTypeDescriptor, nodes.size(), {}, std::move(nodes)};
  }
  /// A required attribute that is a descriptor.
  const Node& child(int attribute) const { return *attributes.at(attribute).nodes.at(0); }
};

/// Checks what was set and works out what is read: the parts of cudnnBackendFinalize, by kind.
void finalize_tensor(Node& node);
void finalize_convolution(Node& node);
void finalize_operation(Node& node);
void finalize_graph(Node& node);
void finalize_heuristics(Node& node);
void finalize_engine(Node& node);
void finalize_config(Node& node);
void finalize_plan(Node& node);
void finalize_pack(Node& node);

/// Of a finalized plan: its engine, and how it behaves.
struct Engine {
  int64_t index;
  bool backwards, runs;
};
Engine engine_of(const Node& plan);
const std::vector<Operation>& operations_of(const Node& plan);

}  // namespace jitc::fakes
