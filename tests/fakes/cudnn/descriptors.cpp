// Descriptors of tensors, filters, convolutions and activations. See descriptors.h.
#include "descriptors.h"

#include <algorithm>

#include "functions.h"

namespace jitc::fakes {
namespace {
enum Format { kChannelsFirst = 0, kChannelsLast = 1 };
constexpr int kMostMathTypes = 4;

const Shape& set_shape(const Shape& shape) {
  require(!shape.dims.empty(), "a descriptor that was not set");
  return shape;
}

int rank_of(int rank) {
  require(rank <= static_cast<int>(kMostDims), "more dimensions than there can be", kDnnNotSupported);
  require(rank >= 1, "a rank out of range");
  return rank;
}

/// As many entries as were asked for.
void copy_out(const std::vector<int64_t>& from, int requested, int* to) {
  const size_t count = std::min(from.size(), static_cast<size_t>(requested));
  for (size_t each = 0; each < count; ++each) given(to)[each] = static_cast<int>(from[each]);
}

/// The channels of an element side by side, then the spatial dimensions.
Shape channels_last(int type, const std::vector<int64_t>& dims) {
  std::vector<int64_t> order = dims;  // as the dimensions lie in memory
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  Shape shape = packed(type, order);
  shape.dims = dims;
  std::rotate(shape.strides.begin() + 1, shape.strides.end() - 1, shape.strides.end());
  return shape;
}
}  // namespace

Shape tensor(const void* descriptor) { return set_shape(object<TensorDescriptor>(descriptor)->shape); }
Shape filter(const void* descriptor) { return set_shape(object<FilterDescriptor>(descriptor)->shape); }

std::vector<int64_t> list_of(CallLine& line, const char* name, const int* from, int count) {
  given(from);
  line.add(Field::bytes(name, from, sizeof(int) * static_cast<size_t>(count)));
  return {from, from + count};
}

int cudnnCreateTensorDescriptor(void** out) {
  return create<TensorDescriptor>("cudnnCreateTensorDescriptor", out);
}
int cudnnDestroyTensorDescriptor(void* descriptor) {
  return destroy<TensorDescriptor>("cudnnDestroyTensorDescriptor", descriptor);
}
int cudnnSetTensorNdDescriptor(void* descriptor, int type, int rank, const int* dims, const int* strides) {
  return dnn_call("cudnnSetTensorNdDescriptor", std::tuple(descriptor, type, rank), [&](CallLine& line) {
    const auto one = object<TensorDescriptor>(descriptor);
    rank_of(rank);
    const Shape shape{type, list_of(line, "dims", dims, rank), list_of(line, "strides", strides, rank)};
    shape.check();
    one->shape = shape;
  });
}
int cudnnGetTensorNdDescriptor(void* descriptor, int requested, int* type, int* rank, int* dims,
                               int* strides) {
  return dnn_call("cudnnGetTensorNdDescriptor", std::tuple(descriptor, requested), [&](CallLine&) {
    const auto one = object<TensorDescriptor>(descriptor);
    require(requested >= 0, "a rank out of range");
    *given(type) = one->shape.type;
    *given(rank) = static_cast<int>(one->shape.dims.size());
    copy_out(one->shape.dims, requested, dims);
    copy_out(one->shape.strides, requested, strides);
  });
}

int cudnnCreateFilterDescriptor(void** out) {
  return create<FilterDescriptor>("cudnnCreateFilterDescriptor", out);
}
int cudnnDestroyFilterDescriptor(void* descriptor) {
  return destroy<FilterDescriptor>("cudnnDestroyFilterDescriptor", descriptor);
}
int cudnnSetFilterNdDescriptor(void* descriptor, int type, int format, int rank, const int* dims) {
  return dnn_call(
      "cudnnSetFilterNdDescriptor", std::tuple(descriptor, type, format, rank), [&](CallLine& line) {
        const auto one = object<FilterDescriptor>(descriptor);
        require(rank_of(rank) >= 2, "a rank out of range");
        require(format == kChannelsFirst || format == kChannelsLast, "a format that is not supported",
                kDnnNotSupported);
        const auto list = list_of(line, "dims", dims, rank);
        const Shape shape = format == kChannelsFirst ? packed(type, list) : channels_last(type, list);
        shape.check();
        one->shape = shape;
        one->format = format;
      });
}
int cudnnGetFilterNdDescriptor(void* descriptor, int requested, int* type, int* format, int* rank,
                               int* dims) {
  return dnn_call("cudnnGetFilterNdDescriptor", std::tuple(descriptor, requested), [&](CallLine&) {
    const auto one = object<FilterDescriptor>(descriptor);
    require(requested >= 0, "a rank out of range");
    *given(type) = one->shape.type;
    *given(format) = one->format;
    *given(rank) = static_cast<int>(one->shape.dims.size());
    copy_out(one->shape.dims, requested, dims);
  });
}

int cudnnCreateConvolutionDescriptor(void** out) {
  return create<ConvolutionDescriptor>("cudnnCreateConvolutionDescriptor", out);
}
int cudnnDestroyConvolutionDescriptor(void* descriptor) {
  return destroy<ConvolutionDescriptor>("cudnnDestroyConvolutionDescriptor", descriptor);
}
int cudnnSetConvolutionNdDescriptor(void* descriptor, int rank, const int* padding, const int* strides,
                                    const int* dilations, int mode, int type) {
  const std::tuple shown(descriptor, rank);
  return dnn_call("cudnnSetConvolutionNdDescriptor", shown, [&](CallLine& line) {
    line.add(argument("mode", mode));
    line.add(argument("type", type));
    const auto one = object<ConvolutionDescriptor>(descriptor);
    rank_of(rank);
    require(mode == 0 || mode == 1, "no such mode");
    const auto around = list_of(line, "padding", padding, rank);
    one->moves = {around, around, list_of(line, "strides", strides, rank),
                  list_of(line, "dilations", dilations, rank), mode == 0};
    one->type = type;
  });
}
int cudnnSetConvolutionGroupCount(void* descriptor, int groups) {
  return dnn_call("cudnnSetConvolutionGroupCount", std::tuple(descriptor, groups), [&](CallLine&) {
    require(groups > 0, "no group");
    object<ConvolutionDescriptor>(descriptor)->groups = groups;
  });
}
int cudnnSetConvolutionMathType(void* descriptor, int math) {
  return dnn_call("cudnnSetConvolutionMathType", std::tuple(descriptor, math), [&](CallLine&) {
    require(math >= 0 && math < kMostMathTypes, "no such math type");
    object<ConvolutionDescriptor>(descriptor)->math = math;
  });
}

int cudnnCreateActivationDescriptor(void** out) {
  return create<ActivationDescriptor>("cudnnCreateActivationDescriptor", out);
}
int cudnnDestroyActivationDescriptor(void* descriptor) {
  return destroy<ActivationDescriptor>("cudnnDestroyActivationDescriptor", descriptor);
}
int cudnnSetActivationDescriptor(void* descriptor, int mode, int nan, double coefficient) {
  const std::tuple shown(descriptor, mode, nan, coefficient);
  return dnn_call("cudnnSetActivationDescriptor", shown, [&](CallLine&) {
    const auto one = object<ActivationDescriptor>(descriptor);
    require(mode >= 0 && mode <= 6, "no such activation");
    one->mode = mode;
    one->nan = nan;
    one->coefficient = coefficient;
  });
}

}  // namespace jitc::fakes
