// cuDNN on the fake library: plans, calls of the older API, what is refused, and that a rebuild has all of it
// again.
#include "blas/blas_client.h"
#include "device/resources.h"
#include "dnn_client.h"

namespace jitc::test {
namespace {
constexpr uint64_t kPlan = 0x7001, kGraph = 0x5001, kExecutable = 0x6001;
constexpr int32_t kBadParam = 2000, kNotSupported = 3000;
/// Places in the fake heuristics' answer.
constexpr int64_t kNoPlan = 0, kDoesNotRun = 1, kWithWorkspace = 2, kPlain = 3;
constexpr int64_t kCount = Numbers::kCount;
using Floats = Numbers::Floats;
}  // namespace

CASE(dnn_a_plan_executes) {
  DnnSession s;
  const Numbers at(s);
  const Scaling scaling(kCount);
  CHECK_EQUAL(s.can_make(scaling.plan(kPlain)).status, 0);
  s.load(kPlan, "plain", scaling.plan(kPlain));
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(2)).status, 0);
  CHECK(at.result(s) == (Floats{2, 4, 6, 8}));
  s.execute(kPlan, at.scaled(-1), 0, KernelSession::kSide);
  s.synchronize();
  CHECK(at.result(s) == (Floats{-1, -2, -3, -4}));
}

CASE(dnn_a_plan_has_its_workspace) {
  DnnSession s;
  const Numbers at(s);
  s.load(kPlan, "work", Scaling(kCount).plan(kWithWorkspace));
  s.fill(at.work, 4096, 0x11);
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(3), at.work).status, 0);
  CHECK(at.result(s) == (Floats{3, 6, 9, 12}));
  CHECK(s.download<uint8_t>(at.work, 1)[0] != 0x11);
}

CASE(dnn_what_the_library_refuses_is_an_answer) {
  DnnSession s;
  const Numbers at(s);
  const Scaling scaling(kCount);
  const auto made = s.can_make(scaling.plan(kNoPlan));
  CHECK_EQUAL(made.op, 0u);
  CHECK_EQUAL(made.status, kNotSupported);
  CHECK(!made.words().empty());
  s.load(kPlan, "refused", scaling.plan(kDoesNotRun));
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(2)).status, kNotSupported);
  s.load(kPlan + 1, "plain", scaling.plan(kPlain));
  CHECK_EQUAL(s.try_execute(kPlan + 1, at.scaled(2)).status, 0);
  CHECK(s.sink.faults().empty());
  const uint64_t last = s.execute(kPlan, at.scaled(2));
  const auto fault = s.sink.wait_fault();
  CHECK_EQUAL(fault.sequence, last);
  CHECK_EQUAL(fault.cause, "dnn-error");
  CHECK(contains(fault.message, "cudnnBackendExecute: CUDNN_STATUS_NOT_SUPPORTED (3000)"));
}

CASE(dnn_a_tensor_is_what_the_plan_says) {
  DnnSession s;
  const Numbers at(s);
  s.load(kPlan, "plain", Scaling(kCount).plan(kPlain));
  auto tensors = at.scaled(2);
  tensors[1] = at_address(Scaling::kB, 0x1234);  // would be read by the library
  CHECK_EQUAL(s.try_execute(kPlan, tensors).op, 1u);
  tensors = at.scaled(2);
  tensors[0] = by_value(Scaling::kX, 1);
  CHECK_EQUAL(s.try_execute(kPlan, tensors).op, 1u);
  tensors = at.scaled(2);
  tensors.pop_back();
  CHECK_EQUAL(s.try_execute(kPlan, tensors).status, kBadParam);
  CHECK_EQUAL(s.try_execute(kPlan + 1, at.scaled(2)).op, 400u);
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(2)).status, 0);
}

CASE(dnn_plans_come_back) {
  DnnSession s;
  const Numbers at(s);
  const Scaling scaling(kCount);
  s.load(kPlan, "plain", scaling.plan(kPlain));
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(2)).status, 0);
  const ImageHash hash = named("plain");
  Resources resources;
  resources.allocations = {{at.x, 4096, 0}, {at.y, 4096, 0}};
  resources.dnn_plans = {{kPlan, hash, images().size(hash)}};
  ops::DnnPlanDrop drop;
  drop.plan = kPlan;
  s.give(drop);
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(2)).op, 400u);
  s.restore(resources);
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(5)).status, 0);
  CHECK(at.result(s) == (Floats{5, 10, 15, 20}));
  s.restore({});
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(2)).op, 400u);
  images().lose(hash);
  s.restore(resources);
  const auto lost = s.try_execute(kPlan, at.scaled(2));
  CHECK_EQUAL(lost.op, 500u);
  CHECK(contains(lost.words(), "the description of a cuDNN plan"));
}

CASE(dnn_calls_in_a_graph) {
  DnnSession s;
  const Numbers at(s);
  const uint64_t with = statistics(s), other = s.allocate(4096);
  s.load(kPlan, "plain", Scaling(kCount).plan(kPlain));
  CHECK_EQUAL(s.try_execute(kPlan, at.scaled(1)).status, 0);
  const uint64_t first = s.sequence() + 1;
  s.begin_capture();
  s.execute(kPlan, at.scaled(10), 0, KernelSession::kStream);
  s.call(kNormalize, normalization(at.y, other, with), KernelSession::kStream);
  const auto ended = s.end_capture(kGraph);
  CHECK_EQUAL(ended.status, 0u);
  const auto content = s.content(first);
  CHECK_EQUAL(s.instantiate(kGraph, kExecutable).status, 0u);
  CHECK(at.result(s) == (Floats{1, 2, 3, 4}));
  s.launch_graph(kExecutable);
  s.synchronize();
  CHECK(s.download<float>(other, 1)[0] > 20.9f && s.download<float>(other, 1)[0] <= 21);
  s.fill(at.y, 4096, 0);
  const Floats before = s.download<float>(other, kCount);
  s.fill(other, 4096, 0);
  s.synchronize();
  const ImageHash hash = named("plain");
  Resources resources;
  resources.allocations = {{at.x, 4096, 0}, {at.y, 4096, 0}, {with, 4096, 0}, {other, 4096, 0}};
  resources.streams = {{KernelSession::kStream, 1, 0}};
  resources.dnn_plans = {{kPlan, hash, images().size(hash)}};
  resources.executables = {{kExecutable, 0, content}};
  s.restore(resources);
  s.launch_graph(kExecutable);
  s.synchronize();
  CHECK(s.download<float>(other, kCount) == before);
}

CASE(dnn_descriptions_are_not_trusted) {
  DnnSession s;
  CallPayload payload;
  payload.add(Scaling(kCount).plan(kPlain));
  const std::vector<std::byte> good(payload.bytes().begin(), payload.bytes().end());
  CHECK_EQUAL(s.ask_raw(good, payload.objects(), 0).op, 0u);
  size_t refused = 0;
  for (size_t length = 0; length < good.size(); length += 8)
    refused += s.ask_raw(std::span(good).first(length), payload.objects(), 0).op != 0;
  CHECK_EQUAL(refused, good.size() / 8);
  for (size_t at = 0; at < good.size(); at += 4) {
    auto bad = good;
    for (size_t i = at; i < at + 4; ++i) bad[i] ^= std::byte{0xff};
    s.ask_raw(bad, payload.objects(), 0);  // refused, or another descriptor: the library says which
  }
  CHECK(s.ask_raw(good, payload.objects() + 1, 0).op != 0);
  CHECK(s.ask_raw(good, payload.objects() - 1, 0).op != 0);
  CHECK(s.ask_raw(good, payload.objects(), 2).op != 0);
  CHECK_EQUAL(s.ask_raw(good, payload.objects(), 0).status, 0);
  CHECK(s.sink.faults().empty());
}

CASE(dnn_an_answer_has_an_end) {
  DnnSession s;
  const auto ask = [&](int64_t requested, int32_t type) {
    CallSlots slots;
    slots.object(graph_tensor(1, {1, 2, 3, 4}));
    for (const int64_t one : {int64_t{ops::kDnn_TENSOR_DIMENSIONS}, int64_t{type}, requested, int64_t{0}})
      slots.number(one);
    slots.result(8);
    slots.result(static_cast<uint64_t>(requested) * 8);
    return s.ask("cudnnBackendGetAttribute", slots);
  };
  CHECK_EQUAL(ask(8, ops::kDnnType_INT64).value<int64_t>(), 4);
  CHECK_EQUAL(ask(8, ops::kDnnType_INT64).value<int64_t>(8), 1);
  CHECK(ask(1 << 18, ops::kDnnType_INT64).words().find("cannot travel") != std::string::npos);
  CHECK(ask(8, ops::kDnnType_VOID_PTR).words().find("cannot travel") != std::string::npos);
}

CASE(dnn_objects_are_kept_by_their_content) {
  DnnSession s;
  const Scaling scaling(kCount);
  for (int i = 0; i < 5; ++i) CHECK_EQUAL(s.can_make(scaling.plan(kPlain)).status, 0);
  for (int i = 0; i < 5; ++i) CHECK_EQUAL(s.can_make(Scaling(kCount).plan(kPlain)).status, 0);
}

CASE(dnn_without_the_library) {
  DnnSession s(Options{});
  CallSlots version;
  version.result(8);
  const auto reply = s.ask("cudnnGetVersion", version);
  CHECK_EQUAL(reply.op, 801u);
  CHECK(contains(reply.words(), "this service has no libcudnn"));
}

}  // namespace jitc::test
