// See dnn_client.h.
#include "dnn_client.h"

#include <cstdlib>

#include "blas/blas_client.h"

namespace jitc::test {
namespace {
// cudnnBackendAttributeType_t
constexpr int32_t kHandle = 0, kDataType = 1, kBoolean = 2, kInt64 = 3, kPointwiseMode = 14, kDescriptor = 15,
                  kHeuristicsMode = 8;

}  // namespace

GraphPart::GraphPart(int32_t type) {
  CallSlots slots;
  slots.number(type);
  record_->repeat(ops::kDnnBackendCreateDescriptor, std::move(slots));
}
CallSlots GraphPart::attribute(int32_t name, int32_t type, size_t count) {
  CallSlots slots;
  slots.number(name);
  slots.number(type);
  slots.number(static_cast<int64_t>(count));
  return slots;
}
GraphPart& GraphPart::add(CallSlots slots, int32_t name) {
  record_->repeat(ops::kDnnBackendSetAttribute, std::move(slots), name);
  return *this;
}
GraphPart& GraphPart::refer(int32_t name, std::vector<ObjectPointer> to) {
  CallSlots slots = attribute(name, kDescriptor, to.size());
  slots.objects(std::move(to));
  return add(std::move(slots), name);
}
GraphPart& GraphPart::handle(int32_t name) {
  CallSlots slots = attribute(name, kHandle, 1);
  slots.handle();
  return add(std::move(slots), name);
}
ObjectPointer GraphPart::done(bool finalized) {
  if (finalized) record_->repeat(ops::kDnnBackendFinalize, {});
  return record_;
}

ObjectPointer graph_tensor(int64_t uid, std::vector<int64_t> sizes, bool value) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  GraphPart out(ops::kDnn_TENSOR);
  out.set<int32_t>(ops::kDnn_TENSOR_DATA_TYPE, kDataType, {0});
  out.set<int64_t>(ops::kDnn_TENSOR_DIMENSIONS, kInt64, sizes);
  out.set<int64_t>(903, kInt64, strides);
  out.set<int64_t>(ops::kDnn_TENSOR_UNIQUE_ID, kInt64, {uid});
  out.set<int64_t>(900, kInt64, {16});
  if (value) out.set<uint8_t>(ops::kDnn_TENSOR_IS_BY_VALUE, kBoolean, {1});
  return out.done();
}

Scaling::Scaling(int64_t count) {
  const auto x = graph_tensor(kX, {1, count, 1, 1}), b = graph_tensor(kB, {1, 1, 1, 1}, true),
             y = graph_tensor(kY, {1, count, 1, 1});
  const auto multiply =
      GraphPart(0).set<int32_t>(0, kPointwiseMode, {1}).set<int32_t>(1, kDataType, {0}).done();
  const auto operation =
      GraphPart(13).refer(750, {multiply}).refer(751, {x}).refer(752, {b}).refer(753, {y}).done();
  graph = GraphPart(15).refer(801, {operation}).handle(800).done();
  heuristics = GraphPart(4).refer(201, {graph}).set<int32_t>(200, kHeuristicsMode, {0}).done();
}

ObjectPointer Scaling::plan(int64_t place) const {
  constexpr int64_t kAll = 4;
  CallSlots query;
  query.object(heuristics);
  for (const int64_t number : {int64_t{202}, int64_t{kDescriptor}, kAll, int64_t{3}, place})
    query.number(number);
  const auto configuration = std::make_shared<ObjectRecord>();
  configuration->repeat(ops::kDnnBackendGetAttribute, std::move(query));
  return GraphPart(ops::kDnn_EXECUTION_PLAN).refer(401, {configuration}).done();
}

ObjectPointer old_tensor(std::vector<int32_t> sizes) {
  const auto out = std::make_shared<ObjectRecord>();
  out->kind = ops::ObjectKind::tensor;
  std::vector<int32_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  CallSlots slots;
  slots.number(0);
  slots.number(static_cast<int64_t>(sizes.size()));
  slots.array(sizes.data(), sizes.size() * sizeof(int32_t));
  slots.array(strides.data(), strides.size() * sizeof(int32_t));
  out->repeat(ops::kDnnSetTensorNdDescriptor, std::move(slots));
  return out;
}

Options DnnSession::with_cudnn() {
  setenv("JITC_FAKE_CUDA", JITC_TEST_DRIVER, 1);
  Options options;
  options.cudnn = JITC_TEST_CUDNN;
  return options;
}

DnnSession::DnnSession(const Options& options) : KernelSession(options) { begin(); }

DnnReply DnnSession::reply_to(uint64_t sequence) {
  DnnReply out{0, 0, sink.wait_result(sequence)};
  out.op = out.reply.status;
  if (!out.op) out.status = out.reply.value<int32_t>();
  return out;
}

DnnReply DnnSession::ask_raw(std::span<const std::byte> bytes, uint32_t objects, uint32_t calls) {
  ops::DnnAsk op;
  op.objects = objects;
  op.calls = calls;
  op.bytes = bytes.size();
  return reply_to(give(op, 0, bytes.data(), bytes.size()));
}
DnnReply DnnSession::ask(const CallPayload& payload, uint32_t calls) {
  return ask_raw(payload.bytes(), payload.objects(), calls);
}
DnnReply DnnSession::ask(std::string_view function, const CallSlots& slots) {
  CallPayload payload;
  payload.add_call(identifier(function), slots);
  return ask(payload, 1);
}
DnnReply DnnSession::can_make(const ObjectPointer& record) {
  CallPayload payload;
  payload.add(record);
  return ask(payload, 0);
}

template <class Op>
uint64_t DnnSession::give_call(std::string_view function, const CallSlots& slots, uint64_t stream) {
  CallPayload payload;
  payload.add_call(identifier(function), slots);
  Op op;
  op.objects = payload.objects();
  op.calls = 1;
  op.bytes = payload.bytes().size();
  return give(op, stream, payload.bytes().data(), payload.bytes().size());
}
DnnReply DnnSession::try_call(std::string_view function, const CallSlots& slots, uint64_t stream) {
  return reply_to(give_call<ops::DnnTry>(function, slots, stream));
}
uint64_t DnnSession::call(std::string_view function, const CallSlots& slots, uint64_t stream) {
  return give_call<ops::DnnCall>(function, slots, stream);
}

void DnnSession::load(uint64_t plan, const std::string& name, const ObjectPointer& record) {
  CallPayload payload;
  payload.add(record);
  const uint64_t objects = payload.objects();
  std::string content(reinterpret_cast<const char*>(&objects), sizeof objects);
  content.append(reinterpret_cast<const char*>(payload.bytes().data()), payload.bytes().size());
  ops::DnnPlanLoad op;
  op.plan = plan;
  op.hash = images().add(name, content);
  op.bytes = images().size(op.hash);
  give(op);
}
template <class Op>
uint64_t DnnSession::give_execution(uint64_t plan, const std::vector<ops::DnnTensor>& tensors,
                                    uint64_t workspace, uint64_t stream) {
  Op op;
  op.plan = plan;
  op.workspace = workspace;
  op.count = tensors.size();
  return give(op, stream, tensors.data(), tensors.size() * sizeof(ops::DnnTensor));
}
DnnReply DnnSession::try_execute(uint64_t plan, const std::vector<ops::DnnTensor>& tensors,
                                 uint64_t workspace) {
  return reply_to(give_execution<ops::DnnExecuteTry>(plan, tensors, workspace, 0));
}
uint64_t DnnSession::execute(uint64_t plan, const std::vector<ops::DnnTensor>& tensors, uint64_t workspace,
                             uint64_t stream) {
  return give_execution<ops::DnnExecute>(plan, tensors, workspace, stream);
}

namespace {
ops::DnnTensor tensor_of(int64_t uid, ops::SlotKind kind, const void* value, uint32_t bytes) {
  ops::DnnTensor out;
  out.uid = uid;
  out.kind = static_cast<uint32_t>(kind);
  out.bytes = bytes;
  std::memcpy(out.value.data(), value, bytes);
  return out;
}
}  // namespace

ops::DnnTensor at_address(int64_t uid, uint64_t address) {
  return tensor_of(uid, ops::SlotKind::address, &address, sizeof address);
}
ops::DnnTensor by_value(int64_t uid, float value) {
  return tensor_of(uid, ops::SlotKind::scalar, &value, sizeof value);
}

Numbers::Numbers(DnnSession& s)
    : x(s.upload(Floats{1, 2, 3, 4})), y(s.allocate(4096)), work(s.allocate(kBlock)) {}
std::vector<ops::DnnTensor> Numbers::scaled(float by) const {
  return {at_address(Scaling::kX, x), by_value(Scaling::kB, by), at_address(Scaling::kY, y)};
}
Numbers::Floats Numbers::result(DnnSession& s) const {
  s.synchronize();
  return s.download<float>(y, kCount);
}

CallSlots normalization(uint64_t x, uint64_t y, uint64_t statistics) {
  const auto data = old_tensor({1, 2, 1, 2}), channels = old_tensor({1, 2, 1, 1});
  const float one = 1, zero = 0;
  CallSlots slots;
  slots.number(1);
  slots.scalar(&one, 4);
  slots.scalar(&zero, 4);
  slots.object(data);
  slots.address(x);
  slots.object(data);
  slots.address(y);
  slots.object(channels);
  for (uint64_t i = 0; i < 4; ++i) slots.address(statistics + i * 256);
  slots.real(1e-5);
  return slots;
}

uint64_t statistics(DnnSession& s) {
  std::vector<float> all(256, 0);
  const float values[] = {2, 1, 0, 1};
  for (size_t i = 0; i < 4; ++i) all[i * 64] = all[i * 64 + 1] = values[i];
  return s.upload(all);
}

}  // namespace jitc::test
