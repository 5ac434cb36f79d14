// Poolings: their descriptors; none is computed.
#include "descriptors.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
struct PoolingDescriptor : DnnObject {
  int mode = 0, nan = 0;
  std::vector<int> moves;
};
}  // namespace

int cudnnCreatePoolingDescriptor(void** out) {
  return create<PoolingDescriptor>("cudnnCreatePoolingDescriptor", out);
}
int cudnnDestroyPoolingDescriptor(void* descriptor) {
  return destroy<PoolingDescriptor>("cudnnDestroyPoolingDescriptor", descriptor);
}
int cudnnSetPooling2dDescriptor(void* descriptor, int mode, int nan, int window_height, int window_width,
                                int vertical_padding, int horizontal_padding, int vertical_stride,
                                int horizontal_stride) {
  const std::tuple shown(descriptor, mode, nan, window_height, window_width, vertical_padding,
                         horizontal_padding, vertical_stride, horizontal_stride);
  return dnn_call("cudnnSetPooling2dDescriptor", shown, [&](CallLine&) {
    const auto one = object<PoolingDescriptor>(descriptor);
    require(mode >= 0 && mode <= 3, "no such pooling");
    require(window_height > 0 && window_width > 0 && vertical_stride > 0 && horizontal_stride > 0,
            "an empty window or step");
    one->mode = mode;
    one->nan = nan;
    one->moves = {window_height,      window_width,    vertical_padding,
                  horizontal_padding, vertical_stride, horizontal_stride};
  });
}

int cudnnPoolingForward(void* handle, void* pooling, const void* alpha, void* x_descriptor, const void* x,
                        const void* beta, void* y_descriptor, void* y) {
  const std::tuple shown(handle, pooling, alpha, x_descriptor, x, beta, y_descriptor, y);
  return dnn_call("cudnnPoolingForward", shown, [&](CallLine&) {
    object<DnnHandle>(handle);
    object<PoolingDescriptor>(pooling);
    tensor(x_descriptor);
    tensor(y_descriptor);
    throw DnnFailure{kDnnNotSupported, "poolings are not supported"};
  });
}

}  // namespace jitc::fakes
