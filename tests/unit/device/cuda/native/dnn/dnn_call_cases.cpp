// cuDNN calls of the older API on the fake library: results, questions, arguments that do not fit.
#include "blas/blas_client.h"
#include "dnn_client.h"

namespace jitc::test {

CASE(dnn_calls_of_the_older_api) {
  DnnSession s;
  const Numbers at(s);
  const uint64_t with = statistics(s);
  CHECK_EQUAL(s.try_call(kNormalize, normalization(at.x, at.y, with)).status, 0);
  const Numbers::Floats expected = at.result(s);
  CHECK(expected[0] > 2.9f && expected[0] <= 3 && expected[3] > 8.9f && expected[3] <= 9);
  s.fill(at.y, 4096, 0, KernelSession::kSide);  // which waits for no other stream
  s.call(kNormalize, normalization(at.x, at.y, with), KernelSession::kSide);
  s.synchronize();
  CHECK(at.result(s) == expected);
}

CASE(dnn_questions_are_answered) {
  DnnSession s;
  CallSlots version, states;
  version.result(8);
  CHECK_EQUAL(s.ask("cudnnGetVersion", version).value<uint64_t>(), 91900u);
  states.result(8);
  CHECK(s.ask("cudnnDropoutGetStatesSize", states).value<uint64_t>() > 0);
  CallSlots sizes;
  sizes.number(1);
  sizes.number(0);
  sizes.null();
  sizes.object(old_tensor({2, 3, 4, 4}));
  sizes.result(8);
  CHECK_EQUAL(s.ask("cudnnGetBatchNormalizationTrainingExReserveSpaceSize", sizes).status, 0);
}

CASE(dnn_several_results_of_one_question) {
  DnnSession s;
  const std::vector<int32_t> weights{2, 2, 1, 1}, ones{1, 1}, zeros{0, 0};
  CallSlots filter, convolution, slots;
  for (const int64_t one : {0, 0, 4}) filter.number(one);
  filter.array(weights.data(), 16);
  convolution.number(2);
  for (const auto* one : {&zeros, &ones, &ones}) convolution.array(one->data(), 8);
  for (const int64_t one : {1, 0}) convolution.number(one);
  const auto made = [](ops::ObjectKind kind, uint32_t function, const CallSlots& with) {
    const auto record = std::make_shared<ObjectRecord>();
    record->kind = kind;
    record->repeat(function, with);
    return record;
  };
  slots.object(old_tensor({1, 2, 3, 3}));
  slots.object(made(ops::ObjectKind::filter, ops::kDnnSetFilterNdDescriptor, filter));
  slots.object(
      made(ops::ObjectKind::convolution, identifier("cudnnSetConvolutionNdDescriptor"), convolution));
  slots.object(old_tensor({1, 2, 3, 3}));
  slots.number(2);
  slots.result(4);
  slots.result(2 * 48);
  const auto reply = s.ask("cudnnGetConvolutionForwardAlgorithm_v7", slots);
  CHECK_EQUAL(reply.status, 0);
  CHECK_EQUAL(reply.value<int32_t>(), 2);
  // The algorithm is the first member of each.
  CHECK(reply.value<int32_t>(4) != reply.value<int32_t>(4 + 48));
}

CASE(dnn_arguments_that_do_not_fit) {
  DnnSession s;
  const Numbers at(s);
  const auto refused = [&](const char* function, const CallSlots& slots) {
    const auto reply = s.ask(function, slots);
    CHECK(reply.op != 0);
    return reply.words();
  };
  CallSlots none;
  CHECK(refused("cudnnDropoutGetStatesSize", none).find("0 arguments instead of 1") != std::string::npos);
  CallSlots small;
  small.result(4);  // the library writes 8 bytes
  CHECK(refused("cudnnDropoutGetStatesSize", small).find("another size") != std::string::npos);
  CHECK(refused("cudnnNoSuchFunction", none).find("knows no such") != std::string::npos);
  CHECK(refused("cudnnSetTensorNdDescriptor", none).find("knows no such") !=
        std::string::npos);  // no question
  auto filter = std::make_shared<ObjectRecord>(*old_tensor({1, 2, 1, 2}));
  filter->kind = ops::ObjectKind::filter;
  CHECK(s.can_make(filter).op != 0);  // a tensor's call
  filter->kind = ops::ObjectKind::lt_preference;
  CHECK(s.can_make(filter).words().find("another library") != std::string::npos);
  auto short_one = std::make_shared<ObjectRecord>();
  short_one->kind = ops::ObjectKind::tensor;
  const std::array<int32_t, 4> four{1, 2, 3, 4};
  CallSlots slots;
  slots.number(0);
  slots.number(8);  // eight dimensions
  slots.array(four.data(), sizeof four);
  slots.array(four.data(), sizeof four);
  short_one->repeat(ops::kDnnSetTensorNdDescriptor, slots);
  CHECK(s.can_make(short_one).words().find("array of another size") != std::string::npos);
  CHECK(s.sink.faults().empty());
}

CASE(dnn_labels_are_counted) {
  DnnSession s;
  const auto make = [](std::vector<int32_t> labels, std::vector<int32_t> lengths) {
    const auto loss = std::make_shared<ObjectRecord>();
    loss->kind = ops::ObjectKind::ctc_loss;
    CallSlots setter;
    for (const int64_t one : {0, 1, 0}) setter.number(one);
    loss->repeat(identifier("cudnnSetCTCLossDescriptorEx"), setter);
    CallSlots slots;
    slots.object(old_tensor({5, 2, 3}));
    slots.object(old_tensor({5, 2, 3}));
    slots.array(labels.data(), labels.size() * 4);
    slots.array(lengths.data(), lengths.size() * 4);
    slots.array(lengths.data(), lengths.size() * 4);
    slots.number(0);
    slots.object(loss);
    slots.result(8);
    return slots;
  };
  constexpr const char* kAsk = "cudnnGetCTCLossWorkspaceSize";
  CHECK_EQUAL(s.ask(kAsk, make({1, 2, 1}, {2, 1})).op, 0u);
  CHECK(s.ask(kAsk, make({1, 2}, {2, 1})).words().find("argument 3 is an array of another size") !=
        std::string::npos);
  CHECK(s.ask(kAsk, make({1, 2, 1}, {4, -1})).op != 0);
  CHECK(s.ask(kAsk, make({1, 2, 1}, {3})).words().find("argument 4") != std::string::npos);
}

}  // namespace jitc::test
