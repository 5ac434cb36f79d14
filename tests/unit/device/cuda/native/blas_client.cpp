// See blas_client.h.
#include "blas_client.h"

#include <cstdlib>

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
  ops::BlasCall op;
  op.handle = handle;
  op.function = identifier(name);
  op.slots = static_cast<uint32_t>(slots.size());
  return give(op, stream, slots.data(), slots.size() * sizeof(ops::BlasSlot));
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

namespace {
template <class Record>
void append(std::vector<std::byte>& to, const Record& record) {
  const size_t before = to.size();
  to.resize(before + sizeof record);
  std::memcpy(to.data() + before, &record, sizeof record);
}
}  // namespace

Description& Description::object(ops::LtKind kind, std::initializer_list<int64_t> create) {
  ops::LtObject made;
  made.kind = static_cast<uint32_t>(kind);
  if (create.size()) std::memcpy(made.create.data(), create.begin(), create.size() * sizeof(int64_t));
  object_ = bytes_.size();
  append(bytes_, made);
  return *this;
}

Description& Description::attribute(uint32_t number, const void* value, uint32_t bytes) {
  ops::LtAttribute made{number, bytes, {}};
  std::memcpy(made.value.data(), value, bytes);
  append(bytes_, made);
  reinterpret_cast<ops::LtObject*>(bytes_.data() + object_)->attributes += 1;
  return *this;
}

Description& Description::square(int32_t type, int64_t n) {
  for (int i = 0; i < 4; ++i) object(ops::LtKind::layout, {type, n, n, n});
  return *this;
}

std::vector<std::byte> LtProduct::payload(const Description& description) {
  op.bytes = description.bytes().size();
  std::vector<std::byte> out;
  append(out, alpha), append(out, beta), append(out, algorithm);
  out.insert(out.end(), description.bytes().begin(), description.bytes().end());
  return out;
}

}  // namespace jitc::test
