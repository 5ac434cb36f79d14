// What every attribute of the graph API must be like. See graph_nodes.h.
#include <algorithm>

#include "graph_nodes.h"

namespace jitc::fakes {
namespace {
constexpr int kMany = 1 << 20, kSpatialMost = 6, kRankMost = 8;
constexpr bool kMust = true, kMay = false, kSet = true, kRead = false;

constexpr Rule kRules[] = {
    {kPointwise, kPointwiseMode, kTypePointwiseMode, kMust},
    {kPointwise, kPointwisePrecision, kTypeDataType, kMust},
    {kPointwise, kPointwiseNan, kTypeNanPropagation, kMay},
    {kPointwise, kReluLowerClip, kTypeFloat, kMay},
    {kPointwise, kReluUpperClip, kTypeFloat, kMay},
    {kPointwise, kReluSlope, kTypeFloat, kMay},

    {kConvolution, kConvolutionType, kTypeDataType, kMust},
    {kConvolution, kConvolutionMode, kTypeConvolutionMode, kMust},
    {kConvolution, kConvolutionDilations, kTypeInt64, kMust, 1, kSpatialMost},
    {kConvolution, kConvolutionStrides, kTypeInt64, kMust, 1, kSpatialMost},
    {kConvolution, kConvolutionAfter, kTypeInt64, kMust, 1, kSpatialMost},
    {kConvolution, kConvolutionBefore, kTypeInt64, kMust, 1, kSpatialMost},
    {kConvolution, kConvolutionSpatial, kTypeInt64, kMust},

    {kHeuristics, kHeuristicsMode, kTypeHeuristicMode, kMust},
    {kHeuristics, kHeuristicsGraph, kTypeDescriptor, kMust, 1, 1, kSet, kGraph},
    {kHeuristics, kHeuristicsResults, kTypeDescriptor, kMay, 0, kMany, kRead, kEngineConfig},
    {kHeuristics, kHeuristicsProcessors, kTypeInt32, kMay},

    {kEngineConfig, kConfigEngine, kTypeDescriptor, kMust, 1, 1, kSet, kEngine},
    {kEngineConfig, kConfigKnobs, kTypeDescriptor, kMay, 0, kMany, kSet, kKnobChoice},

    {kPlan, kPlanHandle, kTypeHandle, kMay},  // the graph has one; PyTorch leaves it out
    {kPlan, kPlanConfig, kTypeDescriptor, kMust, 1, 1, kSet, kEngineConfig},
    {kPlan, kPlanWorkspace, kTypeInt64, kMay, 1, 1, kRead},
    {kPlan, kPlanJson, kTypeChar, kMay, 0, kMany, kRead},

    {kKnobChoice, kChoiceKnob, kTypeKnob, kMust},
    {kKnobChoice, kChoiceValue, kTypeInt64, kMust},
    {kKnobInfo, kInfoKnob, kTypeKnob, kMay, 1, 1, kRead},
    {kKnobInfo, kInfoMost, kTypeInt64, kMay, 1, 1, kRead},
    {kKnobInfo, kInfoLeast, kTypeInt64, kMay, 1, 1, kRead},
    {kKnobInfo, kInfoStep, kTypeInt64, kMay, 1, 1, kRead},

    {kConvolutionForward, kForwardAlpha, kTypeFloat, kMay},
    {kConvolutionForward, kForwardBeta, kTypeFloat, kMay},
    {kConvolutionForward, kForwardConvolution, kTypeDescriptor, kMust, 1, 1, kSet, kConvolution},
    {kConvolutionForward, kForwardW, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kConvolutionForward, kForwardX, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kConvolutionForward, kForwardY, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},

    {kConvolutionData, kDataAlpha, kTypeFloat, kMay},
    {kConvolutionData, kDataBeta, kTypeFloat, kMay},
    {kConvolutionData, kDataConvolution, kTypeDescriptor, kMust, 1, 1, kSet, kConvolution},
    {kConvolutionData, kDataW, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kConvolutionData, kDataDx, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kConvolutionData, kDataDy, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},

    {kConvolutionFilter, kFilterAlpha, kTypeFloat, kMay},
    {kConvolutionFilter, kFilterBeta, kTypeFloat, kMay},
    {kConvolutionFilter, kFilterConvolution, kTypeDescriptor, kMust, 1, 1, kSet, kConvolution},
    {kConvolutionFilter, kFilterDw, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kConvolutionFilter, kFilterX, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kConvolutionFilter, kFilterDy, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},

    {kOperationPointwise, kPointwiseDescriptor, kTypeDescriptor, kMust, 1, 1, kSet, kPointwise},
    {kOperationPointwise, kPointwiseX, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kOperationPointwise, kPointwiseB, kTypeDescriptor, kMay, 1, 1, kSet, kTensor},
    {kOperationPointwise, kPointwiseY, kTypeDescriptor, kMust, 1, 1, kSet, kTensor},
    {kOperationPointwise, kPointwiseAlpha1, kTypeFloat, kMay},
    {kOperationPointwise, kPointwiseAlpha2, kTypeFloat, kMay},

    {kGraph, kGraphHandle, kTypeHandle, kMay},
    {kGraph, kGraphOperations, kTypeDescriptor, kMust, 1, kMany},
    {kGraph, kGraphEngines, kTypeInt64, kMay, 1, 1, kRead},

    {kTensor, kTensorAlignment, kTypeInt64, kMust},
    {kTensor, kTensorType, kTypeDataType, kMust},
    {kTensor, kTensorDims, kTypeInt64, kMust, 1, kRankMost},
    {kTensor, kTensorStrides, kTypeInt64, kMust, 1, kRankMost},
    {kTensor, kTensorVectorCount, kTypeInt64, kMay},
    {kTensor, kTensorVectorDim, kTypeInt64, kMay},
    {kTensor, kTensorId, kTypeInt64, kMust},
    {kTensor, kTensorVirtual, kTypeBoolean, kMay},
    {kTensor, kTensorByValue, kTypeBoolean, kMay},
    {kTensor, kTensorReordering, kTypeReordering, kMay},

    {kVariantPack, kPackIds, kTypeInt64, kMust, 1, kMany},
    {kVariantPack, kPackPointers, kTypePointer, kMust, 1, kMany},
    {kVariantPack, kPackWorkspace, kTypePointer, kMay},

    {kEngine, kEngineGraph, kTypeDescriptor, kMust, 1, 1, kSet, kGraph},
    {kEngine, kEngineIndex, kTypeInt64, kMust},
    {kEngine, kEngineKnobs, kTypeDescriptor, kMay, 0, kMany, kRead, kKnobInfo},
    {kEngine, kEngineNumericalNotes, kTypeNumericalNote, kMay, 0, kMany, kRead},
    {kEngine, kEngineBehaviorNotes, kTypeBehaviorNote, kMay, 0, kMany, kRead},
    {kEngine, kEngineProcessors, kTypeInt32, kMay},
};
}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule& rule_of(int node, int attribute) {
  const auto found = std::ranges::find_if(
      kRules, [&](const Rule& rule) { return rule.node == node && rule.attribute == attribute; });
  require(found != std::end(kRules), "an attribute that is not supported", kDnnNotSupported);
  return *found;
}

bool known_node(int node) {
  return std::ranges::any_of(kRules, [&](const Rule& rule) { return rule.node == node; });
}

void check_type(const Rule& rule, int type) {
  const bool scalar = rule.type == kTypeFloat && type == kTypeDouble;
  require(scalar || rule.type == type, "an attribute of another type", kDnnAttributeType);
}

size_t size_of(int value_type) {
  switch (value_type) {
    case kTypeHandle:
    case kTypeInt64:
    case kTypeDouble:
    case kTypePointer:
    case kTypeDescriptor:
      return 8;
    case kTypeBoolean:
    case kTypeChar:
      return 1;
    default:
      return 4;
  }
}

}  // namespace jitc::fakes
