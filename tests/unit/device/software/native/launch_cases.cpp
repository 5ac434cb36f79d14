// Operators (with a stand-in library), the plain matmul, and garbage in every operand of every op.
#include <cmath>
#include <cstdlib>
#include <random>

#include "device/software/arithmetic/half.h"
#include "harness.h"
#include "jitc/completion.h"

namespace jitc::test {
namespace {
ops::Matmul matmul(int64_t m, int64_t n, int64_t k, uint32_t type) {
  ops::Matmul op;
  op.m = m;
  op.n = n;
  op.k = k;
  op.batch = 1;
  op.lda = op.ldc = op.ldd = m;
  op.ldb = k;
  op.alpha = 1;
  op.epilogue = 1;
  op.type_a = op.type_b = op.type_c = op.type_d = op.type_bias = type;
  return op;
}

template <class T>
T stored(double value) {
  if constexpr (std::is_same_v<T, software::Half>)
    return software::to_half(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, software::BFloat>)
    return software::to_bfloat(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// D = 2 * A^T B + 0.5 C, bias and relu, two batches; small integers, so exact in every type.
template <class T>
void check_matmul(uint32_t type) {
  Session s;
  const int64_t m = 5, n = 3, k = 7, batch = 2;
  const auto a = [](int64_t b, int64_t row, int64_t i) {
    return static_cast<double>((row + i * 2 + b) % 3 - 1);
  };
  const auto b = [](int64_t b, int64_t i, int64_t column) {
    return static_cast<double>((i * column + b) % 4 - 1);
  };
  const auto c = [](int64_t row, int64_t column) { return static_cast<double>(2 * ((row + column) % 3)); };
  std::vector<T> as, bs, cs, bias;
  for (int64_t z = 0; z < batch; ++z) {
    for (int64_t row = 0; row < m; ++row)
      for (int64_t i = 0; i < k; ++i) as.push_back(stored<T>(a(z, row, i)));
    for (int64_t column = 0; column < n; ++column)
      for (int64_t i = 0; i < k; ++i) bs.push_back(stored<T>(b(z, i, column)));
  }
  for (int64_t column = 0; column < n; ++column)
    for (int64_t row = 0; row < m; ++row) cs.push_back(stored<T>(c(row, column)));
  for (int64_t row = 0; row < m; ++row) bias.push_back(stored<T>(static_cast<double>(row - 2)));
  ops::Matmul op = matmul(m, n, k, type);
  op.batch = batch;
  op.transpose_a = 1;
  op.lda = k;
  op.a = s.upload(as);
  op.stride_a = m * k;
  op.b = s.upload(bs);
  op.stride_b = k * n;
  op.c = s.upload(cs);
  op.d = s.allocate(4096);
  op.stride_d = m * n;
  op.alpha = 2;
  op.beta = 0.5;
  op.bias = s.upload(bias);
  op.epilogue = 6;
  s.give(op);
  s.synchronize();
  const auto d = s.download<T>(op.d, static_cast<size_t>(m * n * batch));
  for (int64_t z = 0; z < batch; ++z)
    for (int64_t column = 0; column < n; ++column)
      for (int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += a(z, row, i) * b(z, i, column);
        const T wanted =
            stored<T>(std::max(0.0, 2 * sum + 0.5 * c(row, column) + static_cast<double>(row - 2)));
        CHECK(std::memcmp(&wanted, &d[static_cast<size_t>((z * n + column) * m + row)], sizeof wanted) == 0);
      }
}
}  // namespace

CASE(operator_runs_on_device_memory) {
  OperatorSession s;
  const uint64_t a = s.upload(std::vector<int32_t>{41});
  s.call<ops::OperatorCall>(0, a);
  s.synchronize();
  CHECK_EQUAL(s.download<int32_t>(a, 1)[0], 42);
  const Reply reply = s.sink.wait_result(s.call<ops::OperatorQuery>(0, 77));
  CHECK_EQUAL(reply.status, 0u);
  CHECK_EQUAL(reply.value<uint64_t>(8), 77u);
}

CASE(operator_errors) {
  const auto fault_of = [](uint8_t how, uint64_t address) {
    OperatorSession s;
    s.call<ops::OperatorCall>(how, address);
    return s.sink.wait_fault();
  };
  CHECK_EQUAL(fault_of(1, 0).status, 719u);
  CHECK_EQUAL(fault_of(1, 0).cause, "operator-error");
  CHECK_EQUAL(fault_of(1, 0).message, "mat1 and mat2 shapes cannot be multiplied");
  CHECK_EQUAL(fault_of(2, 0).status, 700u);
  CHECK_EQUAL(fault_of(0, 4096).status, 700u);
  OperatorSession s;
  const Reply raised = s.sink.wait_result(s.call<ops::OperatorQuery>(1, 0));
  CHECK_EQUAL(raised.status, kStatusOperator);
  CHECK_EQUAL(raised.text(), "no such operator");
  CHECK_EQUAL(s.sink.wait_result(s.call<ops::OperatorQuery>(2, 0)).status, 700u);
  CHECK(s.sink.faults().empty());
  s.give(matmul(1, 1, 1, 0));
  CHECK_EQUAL(s.sink.wait_fault().message, "matmul of the library");
}

/// Of the program's numbers: a fault of the session also where the op waits, with a cause that is not
/// replayed.
CASE(operator_asserts) {
  const auto fault_of = [](auto op) {
    OperatorSession s;
    s.call<decltype(op)>(3, 0);
    return s.sink.wait_fault();
  };
  const auto called = fault_of(ops::OperatorCall{}), queried = fault_of(ops::OperatorQuery{});
  CHECK_EQUAL(called.status, 710u);
  CHECK_EQUAL(called.cause, "device-assert");
  CHECK_EQUAL(called.message, "index 5 is out of range");
  CHECK_EQUAL(queried.status, 710u);
  CHECK_EQUAL(queried.message, "index 6 is out of range");
}

CASE(operator_library_is_missing) {
  Session s;
  uint64_t call[2] = {};
  const Reply reply = s.sink.wait_result(s.give(ops::OperatorQuery{}, 0, call, sizeof call));
  CHECK_EQUAL(reply.status, 801u);
  CHECK(contains(reply.text(), "libjitc_operators.so"));
  try {
    Session broken({.slot = 1, .operators = "/nowhere/libjitc_operators.so"});
    CHECK(false);
  } catch (const Failure& failure) {
    CHECK(contains(failure.message, "/nowhere/libjitc_operators.so"));
  }
}

CASE(matmul_all_types) {
  check_matmul<float>(0);
  check_matmul<double>(1);
  check_matmul<software::Half>(2);
  check_matmul<software::BFloat>(14);
}

CASE(matmul_bad_operands) {
  const auto refused = [](auto change, uint32_t status) {
    Session s;
    ops::Matmul op = matmul(4, 4, 4, 0);
    op.a = op.b = op.c = op.d = s.allocate(4096);
    change(op);
    s.give(op);
    CHECK_EQUAL(s.sink.wait_fault().status, status);
  };
  refused([](ops::Matmul& op) { op.m = -1; }, 1);
  refused([](ops::Matmul& op) { op.k = INT64_MAX; }, 1);
  refused([](ops::Matmul& op) { op.lda = 3; }, 1);
  refused([](ops::Matmul& op) { op.ldb = INT64_MAX / 2; }, 1);
  refused([](ops::Matmul& op) { op.ldb = 1 << 20; }, 700);
  refused([](ops::Matmul& op) { op.stride_a = -4; }, 1);
  refused([](ops::Matmul& op) { op.batch = INT64_MAX, op.stride_d = INT64_MAX; }, 1);
  refused([](ops::Matmul& op) { op.batch = 0; }, 1);
  refused([](ops::Matmul& op) { op.transpose_a = 9; }, 1);
  refused([](ops::Matmul& op) { op.type_b = 77; }, 801);
  refused([](ops::Matmul& op) { op.epilogue = 4096; }, 801);
  refused([](ops::Matmul& op) { op.a = 16; }, 700);
  refused([](ops::Matmul& op) { op.alpha_address = 16; }, 700);
}

CASE(half_conversions_round_trip) {
  using namespace software;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const BFloat bfloat{static_cast<uint16_t>(bits)};
    if (std::isnan(to_float(half)))
      CHECK(std::isnan(to_float(to_half(to_float(half)))));
    else
      CHECK_EQUAL(to_half(to_float(half)).bits, half.bits);
    if (std::isnan(to_float(bfloat)))
      CHECK(std::isnan(to_float(to_bfloat(to_float(bfloat)))));
    else
      CHECK_EQUAL(to_bfloat(to_float(bfloat)).bits, bfloat.bits);
  }
  CHECK_EQUAL(to_half(65519.0f).bits, 0x7bff);
  CHECK_EQUAL(to_half(65520.0f).bits, 0x7c00);
  CHECK_EQUAL(to_half(0x1p-25f).bits, 0);  // tie to even
  CHECK_EQUAL(to_half(0x1.8p-25f).bits, 1);
  CHECK_EQUAL(to_half(-0x1p-24f).bits, 0x8001);
  CHECK_EQUAL(to_half(1.0f + 0x1p-11f).bits, 0x3c00);
  CHECK_EQUAL(to_half(1.0f + 0x3p-11f).bits, 0x3c02);
}

/// Every op with operands from values that tend to break things. Each must end in a result or a fault.
CASE(garbage_never_crashes) {
  const char* const seed = std::getenv("JITC_TEST_SEED");
  std::mt19937_64 random(seed ? std::strtoull(seed, nullptr, 10) : 20251);
  Session s;
  const uint64_t a = s.allocate(4096);
  s.communicator(1, 1, 0);
  const Resources wanted{{{a, 4096}}, {{0x10, 1, 0}, {0x11, 0, 0}}, {{0x20, 0}}, {{0x500, 1, 0, {}}}};
  // clang-format off
  const uint64_t interesting[] = {
      0, 1, 2, 3, 4, 8, 0x10, 0x11, 0x20, 0x500, 16, 64, 4096, a, a + 8, a + 4088, a - 4096, kBlock, a + kBlock,
      UINT64_MAX, UINT64_MAX / 2, UINT64_MAX - 4095, 1ull << 63, 1ull << 32, (1ull << 32) | 1, (2ull << 32) | 7,
      0x3ff0000000000000, 1ull << 20};
  // clang-format on
  const auto pick = [&] { return interesting[random() % std::size(interesting)]; };
  for (int round = 0; round < 6000; ++round) {
    const ops::OpInfo& info = ops::kOps[random() % ops::kOps.size()];
    std::vector<uint64_t> record(info.fixed_size / 8);
    for (uint64_t& word : record) word = pick();
    if (info.id == ops::OpId::communicator_create)
      record[4] = (random() % 2) << 32 | 1;  // others would wait for peers
    std::vector<uint64_t> payload(info.has_payload ? random() % 20 : 0);
    for (uint64_t& word : payload) word = pick();
    if (info.id == ops::OpId::collective && random() % 2) record[3] = payload.size() / 8;
    const size_t fixed = random() % 8 ? info.fixed_size : sizeof(ops::OpHeader);
    const uint64_t sequence = s.give_record(record.data(), fixed, static_cast<uint16_t>(info.id),
                                            random() % 3 ? 0x10 : pick(), payload.data(), payload.size() * 8);
    const bool lonely = info.id == ops::OpId::collective;  // may wait for a message that nobody sends
    const bool ran = !lonely && s.backend->idle();
    const bool answered = info.waits && info.id != ops::OpId::image_query;  // that one by the core
    if (ran && answered && !s.sink.has_result(sequence))
      throw Failure{"no result of " + std::string(info.name)};
    s.restore(wanted);
    if (round % 50 == 0) s.backend->commit();
  }
  const ops::OpHeader nothing{};
  const uint64_t sequence = s.give_record(&nothing, sizeof nothing, 0x7777, 0, nullptr, 0);
  CHECK_EQUAL(s.sink.faults().back().sequence, sequence);
  CHECK_EQUAL(s.sink.faults().back().status, 801u);
}
}  // namespace jitc::test
