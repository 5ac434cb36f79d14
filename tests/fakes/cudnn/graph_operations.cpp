// What tensors, convolutions, pointwise operations and graphs mean once they are finalized. See
// graph_nodes.h.
#include <algorithm>
#include <bit>
#include <set>

#include "convolve.h"
#include "graph_nodes.h"

namespace jitc::fakes {
namespace {
enum PointwiseMode { kAdd = 0, kMultiply = 1, kIdentity = 21, kReluForward = 100 };
constexpr int64_t kEngineCount = 8;

GraphTensor tensor_of(const Node& node) {
  return {
      {node.one<int>(kTensorType, 0), node.list<int64_t>(kTensorDims), node.list<int64_t>(kTensorStrides)},
      node.one<int64_t>(kTensorId, 0),
      node.one<int64_t>(kTensorAlignment, 1),
      node.one<uint8_t>(kTensorVirtual, 0) != 0,
      node.one<uint8_t>(kTensorByValue, 0) != 0};
}

/// Set as a float or as a double.
double scalar_of(const Node& node, int attribute, double otherwise) {
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end()) return otherwise;
  return found->second.type == kTypeDouble ? node.one<double>(attribute, otherwise)
                                           : static_cast<double>(node.one<float>(attribute, 0));
}

struct ConvolutionNames {
  Direction direction;
  int alpha, beta, convolution, x, w, y;
};
constexpr ConvolutionNames kForward = {Direction::forward, kForwardAlpha, kForwardBeta, kForwardConvolution,
                                       kForwardX,          kForwardW,     kForwardY};
constexpr ConvolutionNames kData = {Direction::data, kDataAlpha, kDataBeta, kDataConvolution,
                                    kDataDx,         kDataW,     kDataDy};
constexpr ConvolutionNames kFilter = {Direction::filter, kFilterAlpha, kFilterBeta, kFilterConvolution,
                                      kFilterX,          kFilterDw,    kFilterDy};

Moves moves_of(const Node& node) {
  return {node.list<int64_t>(kConvolutionBefore), node.list<int64_t>(kConvolutionAfter),
          node.list<int64_t>(kConvolutionStrides), node.list<int64_t>(kConvolutionDilations),
          node.one<int>(kConvolutionMode, 1) == 0};
}

Operation convolution(const Node& node, const ConvolutionNames& names) {
  const GraphTensor x = tensor_of(node.child(names.x)), w = tensor_of(node.child(names.w)),
                    y = tensor_of(node.child(names.y));
  const Convolve what{names.direction, x.shape, w.shape, y.shape, moves_of(node.child(names.convolution))};
  what.check();
  Operation out;
  out.inputs = {names.direction == Direction::data ? w : x, names.direction == Direction::forward ? w : y};
  out.output = names.direction == Direction::forward ? y : names.direction == Direction::data ? x : w;
  out.blend = {scalar_of(node, names.alpha, 1), scalar_of(node, names.beta, 0)};
  out.compute = [what](const std::vector<Numbers>& in, bool backwards) {
    return what.compute(in[0], in[1], backwards);
  };
  return out;
}

/// The element of a tensor that meets each element of the output; dimensions of 1 meet all.
std::vector<size_t> meeting(const Shape& input, const Shape& output) {
  Shape steps = packed(kDnnDouble, input.dims);
  for (size_t axis = 0; axis < steps.dims.size(); ++axis)
    if (steps.dims[axis] == 1) steps.strides[axis] = 0;
  std::vector<size_t> out(output.count());
  for (size_t each = 0; each < out.size(); ++each) {
    auto rest = static_cast<int64_t>(each);
    for (size_t axis = output.dims.size(); axis-- > 0; rest /= output.dims[axis])
      out[each] += static_cast<size_t>(rest % output.dims[axis] * steps.strides[axis]);
  }
  return out;
}

void check_broadcast(const Shape& input, const Shape& output) {
  bool good = input.dims.size() == output.dims.size();
  for (size_t axis = 0; good && axis < input.dims.size(); ++axis)
    good = input.dims[axis] == 1 || input.dims[axis] == output.dims[axis];
  require(good, "tensors that do not fit together", kDnnShapeMismatch);
}

double combine(int mode, double x, double b) {
  switch (mode) {
    case kAdd:
      return x + b;
    case kMultiply:
      return x * b;
    default:
      return x;
  }
}

struct Relu {
  double lower = 0, upper = 0, slope = 0;
  bool limited = false;
  double operator()(double x) const {
    const double low = x > lower ? x : lower + slope * (x - lower);
    return limited && low > upper ? upper : low;
  }
};

Operation pointwise(const Node& node) {
  const Node& how = node.child(kPointwiseDescriptor);
  const int mode = how.one<int>(kPointwiseMode, 0);
  const bool binary = mode == kAdd || mode == kMultiply;
  require(binary || mode == kIdentity || mode == kReluForward, "a pointwise mode that is not supported",
          kDnnNotSupported);
  require(binary == node.attributes.contains(kPointwiseB), "one tensor too few or too many");
  Operation out;
  out.inputs = {tensor_of(node.child(kPointwiseX))};
  if (binary) out.inputs.push_back(tensor_of(node.child(kPointwiseB)));
  out.output = tensor_of(node.child(kPointwiseY));
  for (const GraphTensor& each : out.inputs) check_broadcast(each.shape, out.output.shape);
  const Relu relu{scalar_of(how, kReluLowerClip, 0), scalar_of(how, kReluUpperClip, 0),
                  scalar_of(how, kReluSlope, 0), how.attributes.contains(kReluUpperClip)};
  const double by_x = scalar_of(node, kPointwiseAlpha1, 1), by_b = scalar_of(node, kPointwiseAlpha2, 1);
  out.compute = [=, operands = out.inputs, y = out.output.shape](const std::vector<Numbers>& in, bool) {
    const auto of_x = meeting(operands[0].shape, y), of_b = meeting(operands.back().shape, y);
    Numbers values(of_x.size());
    for (size_t each = 0; each < values.size(); ++each) {
      const double x = rounded(by_x * in[0][of_x[each]], y.in_double());
      const double b = binary ? rounded(by_b * in[1][of_b[each]], y.in_double()) : 0;
      values[each] = rounded(mode == kReluForward ? relu(x) : combine(mode, x, b), y.in_double());
    }
    return values;
  };
  return out;
}
}  // namespace

void finalize_tensor(Node& node) {
  const GraphTensor tensor = tensor_of(node);
  tensor.shape.check();
  require(tensor.alignment > 0 && std::has_single_bit(static_cast<uint64_t>(tensor.alignment)),
          "an alignment that is no power of two");
  require(node.one<int64_t>(kTensorVectorCount, 1) == 1 && node.one<int>(kTensorReordering, 0) == 0,
          "vectors or another order of elements", kDnnNotSupported);
  require(!tensor.is_virtual || !tensor.by_value, "a virtual tensor by value");
}

void finalize_convolution(Node& node) {
  const auto spatial = static_cast<size_t>(node.one<int64_t>(kConvolutionSpatial, 0));
  for (const int each : {kConvolutionDilations, kConvolutionStrides, kConvolutionBefore, kConvolutionAfter})
    require(node.attributes.at(each).count == spatial, "an entry per spatial dimension", kDnnTooSmall);
}

void finalize_operation(Node& node) {
  switch (node.type) {
    case kConvolutionForward:
      return node.operations.push_back(convolution(node, kForward));
    case kConvolutionData:
      return node.operations.push_back(convolution(node, kData));
    case kConvolutionFilter:
      return node.operations.push_back(convolution(node, kFilter));
    default:
      return node.operations.push_back(pointwise(node));
  }
}

/// Operations are in the order of their data; a virtual tensor is read after it was written, in the graph.
void finalize_graph(Node& node) {
  std::set<int64_t> written;
  for (const NodePointer& each : node.attributes.at(kGraphOperations).nodes) {
    const Operation& operation = each->operations.at(0);
    for (const GraphTensor& input : operation.inputs)
      require(!input.is_virtual || written.contains(input.id), "a virtual tensor that nothing writes",
              kDnnNotSupported);
    require(!operation.output.by_value, "an output by value");
    require(written.insert(operation.output.id).second, "a tensor that is written twice", kDnnNotSupported);
    node.operations.push_back(operation);
  }
  node.put<int64_t>(kGraphEngines, kTypeInt64, {kEngineCount});
}

}  // namespace jitc::fakes
