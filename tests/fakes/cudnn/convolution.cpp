// Convolutions of the older API. There are two algorithms: 1, which wants a workspace and adds from the last
// term on, and 0, which adds in order and needs nothing.
#include "descriptors.h"
#include "functions.h"
#include "handle.h"

namespace jitc::fakes {
namespace {
constexpr int kAlgorithms = 2;
constexpr size_t kWorkspace[kAlgorithms] = {0, 4096};

/// cudnnConvolutionFwdAlgoPerf_t and the two like it.
struct Performance {
  int algorithm, status;
  float time;
  size_t memory;
  int deterministic, math;
  int reserved[3];
};
static_assert(sizeof(Performance) == 48);

Convolve convolve(Direction direction, const void* convolution, const Shape& x, const Shape& w,
                  const Shape& y) {
  const auto how = object<ConvolutionDescriptor>(convolution);
  const Convolve what{direction, x, w, y, how->moves};
  what.check();
  require(x.dims[1] == w.dims[1] * how->groups, "other groups than the channels tell", kDnnShapeMismatch);
  return what;
}

size_t workspace_of(int algorithm) {
  require(algorithm >= 0 && algorithm < kAlgorithms, "an algorithm that is not supported", kDnnNotSupported);
  return kWorkspace[algorithm];
}

/// Where the first operand, the second and the result lie.
struct Operands {
  const void *first, *second;
  void* result;
};
struct Space {
  void* address;
  size_t bytes;
};

void run(CallLine& line, const void* handle, const Convolve& what, Operands at, int algorithm, Space space,
         const void* alpha, const void* beta) {
  const auto stream = object<DnnHandle>(handle);
  const Blend blend = blend_of(what.result(), alpha, beta);
  line.add(Field::real("alpha", blend.alpha));
  line.add(Field::real("beta", blend.beta));
  const size_t size = workspace_of(algorithm);
  require(space.bytes >= size, "a workspace that is too small");
  if (size) given(space.address);
  for (const void* each : {at.first, at.second, static_cast<const void*>(at.result)}) given(each);
  submit(line, *stream, [=, backwards = algorithm == 1] {
    use_workspace(address_of(space.address), size);
    const Numbers first = read_at(what.first(), address_of(at.first)),
                  second = read_at(what.second(), address_of(at.second));
    write_at(what.result(), address_of(at.result), what.compute(first, second, backwards), blend);
  });
}

void suggest(const void* handle, int requested, int* returned, void* results) {
  object<DnnHandle>(handle);
  require(requested > 0, "nothing is asked for");
  given(results);
  *given(returned) = 0;
  for (int each = kAlgorithms - 1; each >= 0 && *returned < requested; --each)
    static_cast<Performance*>(results)[(*returned)++] = {each, kDnnSuccess, 1.0f, kWorkspace[each], 1, 0};
}

template <class... Args>
int suggestion(const char* name, const std::tuple<Args...>& args, Direction direction, const void* handle,
               const void* convolution, const void* x, const void* w, const void* y, int requested,
               int* returned, void* results) {
  return dnn_call(name, args, [&](CallLine&) {
    convolve(direction, convolution, tensor(x), filter(w), tensor(y));
    suggest(handle, requested, returned, results);
  });
}

template <class... Args>
int workspace(const char* name, const std::tuple<Args...>& args, Direction direction, const void* handle,
              const void* convolution, const void* x, const void* w, const void* y, int algorithm,
              size_t* size) {
  return dnn_call(name, args, [&](CallLine& line) {
    line.add(argument("algorithm", algorithm));
    object<DnnHandle>(handle);
    convolve(direction, convolution, tensor(x), filter(w), tensor(y));
    *given(size) = workspace_of(algorithm);
  });
}
}  // namespace

int cudnnConvolutionForward(void* handle, const void* alpha, void* x_descriptor, const void* x,
                            void* w_descriptor, const void* w, void* convolution, int algorithm,
                            void* workspace, size_t workspace_bytes, const void* beta, void* y_descriptor,
                            void* y) {
  return dnn_call("cudnnConvolutionForward",
                  std::tuple(handle, alpha, x_descriptor, x, w_descriptor, w, convolution, algorithm,
                             workspace, workspace_bytes, beta, y_descriptor, y),
                  [&](CallLine& line) {
                    const auto what = convolve(Direction::forward, convolution, tensor(x_descriptor),
                                               filter(w_descriptor), tensor(y_descriptor));
                    run(line, handle, what, {x, w, y}, algorithm, {workspace, workspace_bytes}, alpha, beta);
                  });
}
int cudnnConvolutionBackwardData(void* handle, const void* alpha, void* w_descriptor, const void* w,
                                 void* dy_descriptor, const void* dy, void* convolution, int algorithm,
                                 void* workspace, size_t workspace_bytes, const void* beta,
                                 void* dx_descriptor, void* dx) {
  return dnn_call("cudnnConvolutionBackwardData",
                  std::tuple(handle, alpha, w_descriptor, w, dy_descriptor, dy, convolution, algorithm,
                             workspace, workspace_bytes, beta, dx_descriptor, dx),
                  [&](CallLine& line) {
                    const auto what = convolve(Direction::data, convolution, tensor(dx_descriptor),
                                               filter(w_descriptor), tensor(dy_descriptor));
                    run(line, handle, what, {w, dy, dx}, algorithm, {workspace, workspace_bytes}, alpha,
                        beta);
                  });
}
int cudnnConvolutionBackwardFilter(void* handle, const void* alpha, void* x_descriptor, const void* x,
                                   void* dy_descriptor, const void* dy, void* convolution, int algorithm,
                                   void* workspace, size_t workspace_bytes, const void* beta,
                                   void* dw_descriptor, void* dw) {
  return dnn_call("cudnnConvolutionBackwardFilter",
                  std::tuple(handle, alpha, x_descriptor, x, dy_descriptor, dy, convolution, algorithm,
                             workspace, workspace_bytes, beta, dw_descriptor, dw),
                  [&](CallLine& line) {
                    const auto what = convolve(Direction::filter, convolution, tensor(x_descriptor),
                                               filter(dw_descriptor), tensor(dy_descriptor));
                    run(line, handle, what, {x, dy, dw}, algorithm, {workspace, workspace_bytes}, alpha,
                        beta);
                  });
}

int cudnnConvolutionBiasActivationForward(void* handle, const void* alpha1, void* x_descriptor, const void* x,
                                          void* w_descriptor, const void* w, void* convolution, int algorithm,
                                          void* workspace, size_t workspace_bytes, const void* alpha2,
                                          void* z_descriptor, const void* z, void* bias_descriptor,
                                          const void* bias, void* activation, void* y_descriptor, void* y) {
  return dnn_call("cudnnConvolutionBiasActivationForward",
                  std::tuple(handle, alpha1, x_descriptor, x, w_descriptor, w, convolution, algorithm,
                             workspace, workspace_bytes, alpha2, z_descriptor, z, bias_descriptor, bias,
                             activation, y_descriptor, y),
                  [&](CallLine&) {
                    object<DnnHandle>(handle);
                    convolve(Direction::forward, convolution, tensor(x_descriptor), filter(w_descriptor),
                             tensor(y_descriptor));
                    tensor(z_descriptor);
                    tensor(bias_descriptor);
                    object<ActivationDescriptor>(activation);
                    throw DnnFailure{kDnnNotSupported, "the fused convolution is not supported"};
                  });
}

int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, void* x, void* w, void* convolution, void* y,
                                           int requested, int* returned, void* results) {
  return suggestion("cudnnGetConvolutionForwardAlgorithm_v7",
                    std::tuple(handle, x, w, convolution, y, requested), Direction::forward, handle,
                    convolution, x, w, y, requested, returned, results);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void* handle, void* w, void* dy, void* convolution, void* dx,
                                                int requested, int* returned, void* results) {
  return suggestion("cudnnGetConvolutionBackwardDataAlgorithm_v7",
                    std::tuple(handle, w, dy, convolution, dx, requested), Direction::data, handle,
                    convolution, dx, w, dy, requested, returned, results);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void* handle, void* x, void* dy, void* convolution,
                                                  void* dw, int requested, int* returned, void* results) {
  return suggestion("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                    std::tuple(handle, x, dy, convolution, dw, requested), Direction::filter, handle,
                    convolution, x, dw, dy, requested, returned, results);
}

/// As the suggestions without a measurement: nothing is run.
int cudnnFindConvolutionForwardAlgorithmEx(void* handle, void* x_descriptor, const void* x,
                                           void* w_descriptor, const void* w, void* convolution,
                                           void* y_descriptor, void* y, int requested, int* returned,
                                           void* results, void* workspace, size_t workspace_bytes) {
  return suggestion("cudnnFindConvolutionForwardAlgorithmEx",
                    std::tuple(handle, x_descriptor, x, w_descriptor, w, convolution, y_descriptor, y,
                               requested, returned, results, workspace, workspace_bytes),
                    Direction::forward, handle, convolution, x_descriptor, w_descriptor, y_descriptor,
                    requested, returned, results);
}
int cudnnFindConvolutionBackwardDataAlgorithmEx(void* handle, void* w_descriptor, const void* w,
                                                void* dy_descriptor, const void* dy, void* convolution,
                                                void* dx_descriptor, void* dx, int requested, int* returned,
                                                void* results, void* workspace, size_t workspace_bytes) {
  return suggestion("cudnnFindConvolutionBackwardDataAlgorithmEx",
                    std::tuple(handle, w_descriptor, w, dy_descriptor, dy, convolution, dx_descriptor, dx,
                               requested, returned, results, workspace, workspace_bytes),
                    Direction::data, handle, convolution, dx_descriptor, w_descriptor, dy_descriptor,
                    requested, returned, results);
}
int cudnnFindConvolutionBackwardFilterAlgorithmEx(void* handle, void* x_descriptor, const void* x,
                                                  void* dy_descriptor, const void* dy, void* convolution,
                                                  void* dw_descriptor, void* dw, int requested, int* returned,
                                                  void* results, void* workspace, size_t workspace_bytes) {
  return suggestion("cudnnFindConvolutionBackwardFilterAlgorithmEx",
                    std::tuple(handle, x_descriptor, x, dy_descriptor, dy, convolution, dw_descriptor, dw,
                               requested, returned, results, workspace, workspace_bytes),
                    Direction::filter, handle, convolution, x_descriptor, dw_descriptor, dy_descriptor,
                    requested, returned, results);
}

int cudnnGetConvolutionForwardWorkspaceSize(void* handle, void* x, void* w, void* convolution, void* y,
                                            int algorithm, size_t* size) {
  return workspace("cudnnGetConvolutionForwardWorkspaceSize", std::tuple(handle, x, w, convolution, y),
                   Direction::forward, handle, convolution, x, w, y, algorithm, size);
}
int cudnnGetConvolutionBackwardDataWorkspaceSize(void* handle, void* w, void* dy, void* convolution, void* dx,
                                                 int algorithm, size_t* size) {
  return workspace("cudnnGetConvolutionBackwardDataWorkspaceSize", std::tuple(handle, w, dy, convolution, dx),
                   Direction::data, handle, convolution, dx, w, dy, algorithm, size);
}
int cudnnGetConvolutionBackwardFilterWorkspaceSize(void* handle, void* x, void* dy, void* convolution,
                                                   void* dw, int algorithm, size_t* size) {
  return workspace("cudnnGetConvolutionBackwardFilterWorkspaceSize",
                   std::tuple(handle, x, dy, convolution, dw), Direction::filter, handle, convolution, x, dw,
                   dy, algorithm, size);
}

}  // namespace jitc::fakes
