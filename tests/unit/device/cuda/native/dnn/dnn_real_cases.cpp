// The real libcudnn, which makes descriptors without a GPU: what a client describes is what it takes.
//
// PyTorch's wheels bring the library along; JITC_TEST_REAL_CUDNN is its path.
#include <cstdlib>

#include "blas/blas_client.h"
#include "device/common/error.h"
#include "device/cuda/dnn/dnn_objects.h"
#include "dnn_client.h"

namespace jitc::test {
namespace {
using Numbers32 = std::vector<int32_t>;

/// A descriptor of the older API, by its setters.
class Older {
 public:
  explicit Older(ops::ObjectKind kind) { record_->kind = kind; }
  template <class Fill>
  Older& set(std::string_view function, Fill&& fill) {
    CallSlots slots;
    fill(slots);
    record_->repeat(identifier(function), std::move(slots));
    return *this;
  }
  ObjectPointer done() const { return record_; }

 private:
  std::shared_ptr<ObjectRecord> record_ = std::make_shared<ObjectRecord>();
};

void numbers(CallSlots& slots, std::initializer_list<int64_t> values) {
  for (const int64_t one : values) slots.number(one);
}
void array(CallSlots& slots, const Numbers32& values) { slots.array(values.data(), values.size() * 4); }

std::vector<ObjectPointer> all_kinds() {
  using enum ops::ObjectKind;
  return {old_tensor({2, 3, 4, 5}),
          Older(filter)
              .set("cudnnSetFilterNdDescriptor",
                   [](CallSlots& s) { numbers(s, {0, 0, 4}), array(s, {8, 3, 3, 3}); })
              .done(),
          Older(convolution)
              .set("cudnnSetConvolutionNdDescriptor",
                   [](CallSlots& s) {
                     s.number(2), array(s, {1, 1}), array(s, {2, 2}), array(s, {1, 1}), numbers(s, {1, 0});
                   })
              .set("cudnnSetConvolutionGroupCount", [](CallSlots& s) { s.number(4); })
              .set("cudnnSetConvolutionMathType", [](CallSlots& s) { s.number(1); })
              .done(),
          Older(activation)
              .set("cudnnSetActivationDescriptor", [](CallSlots& s) { numbers(s, {1, 0}), s.real(0.5); })
              .done(),
          Older(pooling)
              .set("cudnnSetPooling2dDescriptor", [](CallSlots& s) { numbers(s, {0, 0, 2, 2, 0, 0, 2, 2}); })
              .done(),
          Older(rnn_data)
              .set("cudnnSetRNNDataDescriptor",
                   [](CallSlots& s) { numbers(s, {0, 0, 5, 2, 3}), array(s, {5, 4}), s.null(); })
              .done(),
          Older(ctc_loss)
              .set("cudnnSetCTCLossDescriptor_v9", [](CallSlots& s) { numbers(s, {0, 1, 0, 16}); })
              .done(),
          Older(transformer)
              .set("cudnnSetSpatialTransformerNdDescriptor",
                   [](CallSlots& s) { numbers(s, {0, 0, 4}), array(s, {1, 2, 3, 4}); })
              .done()};
}

/// A convolution of the graph API, and its graph; it needs no handle before heuristics are asked.
ObjectPointer convolution_graph() {
  constexpr int32_t kDataType = 1, kInt64 = 3, kFloat = 4, kMode = 7;
  const auto x = graph_tensor(1, {2, 4, 8, 8}), w = graph_tensor(2, {6, 4, 3, 3}),
             y = graph_tensor(3, {2, 6, 8, 8});
  GraphPart how(1);
  how.set<int32_t>(100, kDataType, {0}).set<int32_t>(101, kMode, {1}).set<int64_t>(106, kInt64, {2});
  for (const int32_t name : {102, 103, 104, 105}) how.set<int64_t>(name, kInt64, {1, 1});
  GraphPart operation(10);
  operation.refer(704, {x}).refer(703, {w}).refer(705, {y}).refer(702, {how.done()});
  operation.set<float>(700, kFloat, {1}).set<float>(701, kFloat, {0});
  return GraphPart(15).refer(801, {operation.done()}).done();
}

std::vector<cuda::DnnObject::Pointer> make(cuda::DnnObjects& objects, const ObjectPointer& record) {
  CallPayload payload;
  payload.add(record);
  try {
    return objects.make(cuda::Description(payload.bytes(), payload.objects(), false), nullptr);
  } catch (const cuda::LibraryFailure& failure) {
    throw Failure{std::string(failure.function) + ": " + std::to_string(failure.status) + " " +
                  failure.words};
  } catch (const device::OpError& error) {
    throw Failure{error.message};
  }
}
}  // namespace

CASE(real_cudnn_takes_descriptors) {
  const char* const path = std::getenv("JITC_TEST_REAL_CUDNN");
  if (!path) throw Failure{"JITC_TEST_REAL_CUDNN is not set"};
  const auto library = cuda::Cudnn::open(path, {});
  cuda::DnnObjects objects(library);
  for (const ObjectPointer& one : all_kinds()) make(objects, one);
  const auto tensor = make(objects, old_tensor({2, 3, 4, 5})).back();
  int32_t type = -1, count = -1;
  Numbers32 sizes(8), strides(8);
  CHECK_EQUAL(
      library->cudnnGetTensorNdDescriptor(tensor->real(), 8, &type, &count, sizes.data(), strides.data()), 0);
  CHECK(type == 0 && count == 4 && sizes[3] == 5 && strides[0] == 60);
  const auto parts = make(objects, convolution_graph());
  CHECK_EQUAL(parts.size(), 6u);
  constexpr int32_t kSizes = ops::kDnn_TENSOR_DIMENSIONS;
  std::array<int64_t, 8> back{};
  int64_t found = 0;
  CHECK_EQUAL(library->cudnnBackendGetAttribute(parts[0]->real(), kSizes, ops::kDnnType_INT64, 8, &found,
                                                back.data()),
              0);
  CHECK(found == 4 && back[1] == 4 && back[3] == 8);
}

}  // namespace jitc::test
