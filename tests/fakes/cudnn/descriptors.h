// Descriptors of the older API: what was set, copied. Used by descriptors and by what computes from them.
#pragma once
#include "call.h"
#include "convolve.h"
#include "tensor.h"

namespace jitc::fakes {

struct TensorDescriptor : DnnObject {
  Shape shape;
};

struct FilterDescriptor : DnnObject {
  Shape shape;
  int format = 0;
};

struct ConvolutionDescriptor : DnnObject {
  Moves moves;
  int groups = 1, math = 0, type = 0;
};

struct ActivationDescriptor : DnnObject {
  int mode = 0, nan = 0;
  double coefficient = 0;
};

/// The shape of a tensor descriptor that was set; throws kDnnBadParam.
Shape tensor(const void* descriptor);
Shape filter(const void* descriptor);
/// Also of a null pointer, which is no tensor.
inline void check_optional_tensor(const void* descriptor) {
  if (descriptor) object<TensorDescriptor>(descriptor);
}
inline void check_optional_activation(const void* descriptor) {
  if (descriptor) object<ActivationDescriptor>(descriptor);
}

/// A list that the caller gave, widened; also in the log.
std::vector<int64_t> list_of(CallLine& line, const char* name, const int* from, int count);

}  // namespace jitc::fakes
