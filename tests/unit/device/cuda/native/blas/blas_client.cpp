// See blas_client.h.
#include "blas_client.h"

#include <cstdlib>

#include "jitc/generated_lt.h"

namespace jitc::test {

Options BlasSession::with_libraries() {
  setenv("JITC_FAKE_CUDA", JITC_TEST_DRIVER, 1);
  Options options;
  options.cublas = JITC_TEST_CUBLAS;
  options.cublaslt = JITC_TEST_CUBLASLT;
  return options;
}

BlasSession::BlasSession(const Options& options) : Session(options) {}

void BlasSession::create(uint64_t handle) {
  ops::BlasCreate op;
  op.handle = handle;
  give(op);
}

void BlasSession::destroy(uint64_t handle) {
  ops::BlasDestroy op;
  op.handle = handle;
  give(op);
}

uint64_t BlasSession::set(uint64_t handle, ops::BlasField field, int32_t mode, uint64_t address,
                          uint64_t bytes) {
  ops::BlasSet op;
  op.handle = handle;
  op.field = static_cast<uint32_t>(field);
  op.mode = mode;
  op.address = address;
  op.bytes = bytes;
  return give(op);
}

uint64_t BlasSession::call(uint64_t handle, std::string_view name, const Slots& slots, uint64_t stream) {
  CallWriter call;
  call.begin(identifier(name));
  for (const Argument& one : slots) one.write(call);
  ops::LibraryCall op;
  op.handle = handle;
  op.bytes = call.bytes().size();
  return give(op, stream, call.bytes().data(), call.bytes().size());
}

uint64_t BlasSession::product(uint64_t handle, uint64_t a, uint64_t b, uint64_t c, int64_t n,
                              uint64_t stream) {
  const Slots slots{number(0), number(0),  number(n), number(n),    number(n),  scalar(1.0f), address(a),
                    number(n), address(b), number(n), scalar(0.0f), address(c), number(n)};
  return call(handle, "cublasSgemm_v2", slots, stream);
}

Sink::Fault BlasSession::fault_of(uint64_t sequence) {
  const auto fault = sink.wait_fault();
  CHECK_EQUAL(fault.sequence, sequence);
  return fault;
}

void Argument::write(CallWriter& call) const {
  switch (kind) {
    case ops::SlotKind::number:
      return call.number(as<int64_t>());
    case ops::SlotKind::address:
      return call.address(as<uint64_t>());
    case ops::SlotKind::scalar:
      return call.scalar(value.data(), bytes);
    case ops::SlotKind::array:
      return call.array(value.data(), bytes);
    case ops::SlotKind::result:
      return call.result(bytes);
    default:
      return call.null();
  }
}

void Description::Writer::count_call(size_t object) {
  reinterpret_cast<ops::ObjectHead*>(bytes_.data() + object)->calls += 1;
}

Description& Description::object(ops::ObjectKind kind, std::initializer_list<int64_t> create) {
  object_ = written_.bytes().size();
  kind_ = kind;
  ++objects_;
  written_.object_head(kind, 1);
  written_.begin(ops::lt_maker(kind).create);
  for (const int64_t one : create) written_.number(one);
  return *this;
}

Description& Description::attribute(uint32_t number, const void* value, uint32_t bytes) {
  written_.begin(ops::lt_maker(kind_).set);
  written_.number(number);
  written_.array(value, bytes);
  written_.count_call(object_);
  return *this;
}

Description& Description::square(int32_t type, int64_t n) {
  for (int i = 0; i < 4; ++i) object(ops::ObjectKind::lt_layout, {type, n, n, n});
  return *this;
}

namespace {
template <class Op>
Carried<Op> carried(const Description& description, const CallWriter& call) {
  Carried<Op> out;
  out.op.objects = description.objects();
  out.op.described = static_cast<uint32_t>(description.bytes().size());
  out.op.bytes = call.bytes().size();
  out.payload.assign(call.bytes().begin(), call.bytes().end());
  return out;
}
}  // namespace

Carried<ops::LibraryAsk> question_of(const Description& description, int64_t requested) {
  CallWriter call = description.writer();
  call.begin(ops::kLtMatmulAlgoGetHeuristic);
  for (uint64_t place = 0; place < 6; ++place) call.object(place);
  call.number(requested);
  call.result(static_cast<uint64_t>(requested) * sizeof(LtResult));
  call.result(sizeof(int32_t));
  return carried<ops::LibraryAsk>(description, call);
}

Carried<ops::LibraryCall> LtProduct::with(const Description& description) const {
  CallWriter call = description.writer();
  call.begin(ops::kLtMatmul);
  call.object(0);
  alpha.write(call);
  call.address(a), call.object(1), call.address(b), call.object(2);
  beta.write(call);
  call.address(c), call.object(3), call.address(d), call.object(4);
  algorithm ? call.array(&*algorithm, sizeof *algorithm) : call.null();
  call.address(workspace), call.number(static_cast<int64_t>(workspace_bytes));
  return carried<ops::LibraryCall>(description, call);
}

}  // namespace jitc::test
