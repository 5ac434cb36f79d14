// cuBLAS calls on the fake library: results, modes, workspaces, errors, restore, bytes of all kinds.
#include <cmath>
#include <random>

#include "blas_client.h"
#include "device/resources.h"

namespace jitc::test {
namespace {
constexpr uint64_t kHandle = 0x400, kOther = 0x401, kA = 0x1001, kB = 0x1002;
constexpr int32_t kTransposed = 1;

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& one : out) one = static_cast<float>(static_cast<int>(random() % 17) - 8) / 4;
  return out;
}

/// c = alpha op(a) op(b) + beta c, columns one after the other.
std::vector<float> loop(int m, int n, int k, float alpha, const std::vector<float>& a, bool transposed,
                        const std::vector<float>& b, float beta, std::vector<float> c) {
  for (int column = 0; column < n; ++column)
    for (int row = 0; row < m; ++row) {
      float sum = 0;
      for (int i = 0; i < k; ++i)
        sum += a[size_t(transposed ? row * k + i : i * m + row)] * b[size_t(column * k + i)];
      float& out = c[size_t(column * m + row)];
      out = alpha * sum + beta * out;
    }
  return c;
}

struct Operands {
  std::vector<float> a = numbers(12, 1), b = numbers(20, 2), c = numbers(15, 3);  // 3 x 4, 4 x 5, 3 x 5
  uint64_t at_a, at_b, at_c;
  explicit Operands(BlasSession& s) : at_a(s.upload(a)), at_b(s.upload(b)), at_c(s.upload(c)) {}
  Slots slots(Argument alpha, Argument beta, int32_t transpose_a = 0) const {
    return {number(transpose_a),
            number(0),
            number(3),
            number(5),
            number(4),
            alpha,
            address(at_a),
            number(transpose_a ? 4 : 3),
            address(at_b),
            number(4),
            beta,
            address(at_c),
            number(3)};
  }
};
}  // namespace

CASE(blas_a_product_equals_a_loop) {
  BlasSession s;
  const Operands o(s);
  s.create(kHandle);
  s.stream(kA);
  s.call(kHandle, "cublasSgemm_v2", o.slots(scalar(0.5f), scalar(-2.0f), kTransposed), kA);
  s.synchronize();
  CHECK(s.download<float>(o.at_c, 15) == loop(3, 5, 4, 0.5f, o.a, true, o.b, -2, o.c));
}

CASE(blas_scalars_in_device_memory) {
  BlasSession s;
  const Operands o(s);
  const uint64_t scalars = s.upload(std::vector<float>{0.25f, 3});
  s.create(kHandle);
  s.set(kHandle, ops::BlasField::pointer_mode, 1);
  s.call(kHandle, "cublasSgemm_v2", o.slots(address(scalars), address(scalars + 4)));
  s.synchronize();
  const auto once = loop(3, 5, 4, 0.25f, o.a, false, o.b, 3, o.c);
  CHECK(s.download<float>(o.at_c, 15) == once);
  // The call itself says where its scalars are.
  s.call(kHandle, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.5f)));
  s.synchronize();
  CHECK(s.download<float>(o.at_c, 15) == loop(3, 5, 4, 1, o.a, false, o.b, 0.5f, once));
}

CASE(blas_typed_and_strided_products) {
  BlasSession s;
  s.create(kHandle);
  const auto a = numbers(8, 4), b = numbers(8, 5);  // two of 2 x 2 each
  const uint64_t at_a = s.upload(a), at_b = s.upload(b), at_c = s.allocate(4096);
  const auto matrix = [](uint64_t at) { return Slots{address(at), number(0), number(2), number(4)}; };
  Slots slots{number(0), number(0), number(2), number(2), number(2), scalar(1.0f)};
  for (const uint64_t at : {at_a, at_b})
    for (const auto& one : matrix(at)) slots.push_back(one);
  slots.push_back(scalar(0.0f));
  for (const auto& one : matrix(at_c)) slots.push_back(one);
  for (const int64_t last : {2, 68, -1}) slots.push_back(number(last));
  s.call(kHandle, "cublasGemmStridedBatchedEx", slots);
  s.synchronize();
  std::vector<float> expected;
  for (size_t item : {0u, 4u}) {
    const std::vector<float> one(a.begin() + long(item), a.begin() + long(item) + 4);
    const std::vector<float> two(b.begin() + long(item), b.begin() + long(item) + 4);
    const auto made = loop(2, 2, 2, 1, one, false, two, 0, std::vector<float>(4));
    expected.insert(expected.end(), made.begin(), made.end());
  }
  CHECK(s.download<float>(at_c, 8) == expected);
}

CASE(blas_arrays_of_pointers_and_results_on_the_device) {
  BlasSession s;
  s.create(kHandle);
  const auto a = numbers(4, 6), b = numbers(4, 7);
  const uint64_t at_a = s.upload(a), at_b = s.upload(b), at_c = s.allocate(4096), result = s.allocate(4096);
  const uint64_t lists = s.upload(std::vector<uint64_t>{at_a, at_b, at_b, at_a, at_c, at_c + 16});
  s.call(kHandle, "cublasSgemmBatched",
         {number(0), number(0), number(2), number(2), number(2), scalar(1.0f), address(lists), number(2),
          address(lists + 16), number(2), scalar(0.0f), address(lists + 32), number(2), number(2)});
  s.call(kHandle, "cublasSdot_v2",
         {number(4), address(at_a), number(1), address(at_b), number(1), address(result)});
  s.synchronize();
  const std::vector<float> none(4);
  auto expected = loop(2, 2, 2, 1, a, false, b, 0, none);
  const auto second = loop(2, 2, 2, 1, b, false, a, 0, none);
  expected.insert(expected.end(), second.begin(), second.end());
  CHECK(s.download<float>(at_c, 8) == expected);
  float sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += a[i] * b[i];
  CHECK_EQUAL(s.download<float>(result, 1)[0], sum);
}

/// The log tells: test_a_call_runs_with_the_modes_and_workspace_of_its_handle.
CASE(blas_modes_and_workspaces_reach_the_library) {
  BlasSession s;
  const Operands o(s);
  const uint64_t work = s.allocate(kBlock);
  s.stream(kA);
  s.stream(kB);
  s.create(kHandle);
  s.create(kOther);
  const auto product = [&](uint64_t handle, uint64_t stream) {
    s.call(handle, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.0f)), stream);
  };
  product(kHandle, 0);
  s.synchronize();  // all products have one place
  s.set(kHandle, ops::BlasField::math_mode, 3);
  s.set(kHandle, ops::BlasField::atomics_mode, 1);
  s.set(kHandle, ops::BlasField::workspace, 0, work, kBlock);
  product(kHandle, kA);
  s.synchronize();
  product(kHandle, kB);  // another stream takes the workspace away: it is set again
  product(kOther, kB);
  s.set(kHandle, ops::BlasField::workspace, 0, 0, 0);  // the library's own
  product(kHandle, kB);
  s.set(kHandle, ops::BlasField::workspace, 0, 0, UINT64_MAX);  // none
  product(kHandle, kB);
  s.destroy(kHandle);
  s.synchronize();
  s.destroy(kOther);
}

CASE(blas_errors_name_the_function_and_the_status) {
  BlasSession s;
  const Operands o(s);
  s.create(kHandle);
  Slots slots = o.slots(scalar(1.0f), scalar(0.0f));
  slots[2] = number(-1);
  const auto fault = s.fault_of(s.call(kHandle, "cublasSgemm_v2", slots));
  CHECK_EQUAL(fault.status, 1u);
  CHECK_EQUAL(fault.cause, std::string("blas-error"));
  CHECK(contains(fault.message, "cublasSgemm_v2: CUBLAS_STATUS_INVALID_VALUE (7)"));
}

CASE(blas_a_lost_device_is_told_from_an_error_of_the_library) {
  prepare_failures();
  BlasSession s;
  const Operands o(s);
  s.create(kHandle);
  s.synchronize();
  ask_for_failures("cublasSgemm_v2:1=15");
  const auto own = s.fault_of(s.call(kHandle, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.0f))));
  CHECK_EQUAL(own.cause, std::string("blas-error"));
  CHECK_EQUAL(own.status, 801u);
  CHECK(contains(own.message, "CUBLAS_STATUS_NOT_SUPPORTED (15)"));
}

CASE(fault_sticky_error_behind_a_blas_call) {
  prepare_failures();
  BlasSession s;
  const Operands o(s);
  s.create(kHandle);
  s.synchronize();
  ask_for_failures("cuLaunchHostFunc:1=700");
  const auto fault = s.fault_of(s.call(kHandle, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.0f))));
  CHECK_EQUAL(fault.status, 700u);
  CHECK_EQUAL(fault.cause, std::string("sticky-error"));
  CHECK(contains(fault.message, "cublasSgemm_v2: CUBLAS_STATUS_EXECUTION_FAILED (13)"));
}

CASE(blas_what_does_not_exist_is_refused) {
  const auto refused = [](const std::function<uint64_t(BlasSession&)>& act, const Options& options) {
    BlasSession s(options);
    return s.fault_of(act(s));
  };
  const auto good = BlasSession::with_libraries();
  CHECK_EQUAL(refused([](BlasSession& s) { return s.call(kHandle, "cublasSgemm_v2", {}); }, good).status,
              400u);
  CHECK_EQUAL(refused([](BlasSession& s) { return s.set(kHandle, {}, 0); }, good).status, 400u);
  CHECK_EQUAL(refused([](BlasSession& s) { return s.destroy(kHandle), s.sequence(); }, good).status, 400u);
  CHECK_EQUAL(refused([](BlasSession& s) { return s.create(1), s.create(1), s.sequence(); }, good).status,
              400u);
  CHECK_EQUAL(refused([](BlasSession& s) { return s.create(1), s.call(1, "cublasNone", {}); }, good).status,
              801u);
  CHECK_EQUAL(
      refused([](BlasSession& s) { return s.create(1), s.set(1, ops::BlasField(9), 0); }, good).status, 1u);
  // The fake has no such function, as an older libcublas may not.
  const Slots copy{number(1), address(0), number(1), address(0), number(1)};
  const auto missing =
      refused([&](BlasSession& s) { return s.create(1), s.call(1, "cublasScopy_v2", copy); }, good);
  CHECK_EQUAL(missing.status, 801u);
  CHECK(contains(missing.message, "cublasScopy_v2"));
  Options none;
  const auto without = refused([](BlasSession& s) { return s.create(1), s.sequence(); }, none);
  CHECK_EQUAL(without.status, 801u);
  CHECK(contains(without.message, "libcublas"));
}

CASE(blas_restore_makes_handles_again_with_their_modes) {
  BlasSession s;
  const Operands o(s);
  const uint64_t work = s.allocate(kBlock);
  s.create(kHandle);
  s.create(kOther);
  s.set(kHandle, ops::BlasField::math_mode, 3);
  s.call(kHandle, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.0f)));
  s.synchronize();
  Resources then;
  then.allocations = {{o.at_a, 4096, 1}, {o.at_b, 4096, 2}, {o.at_c, 4096, 3}, {work, kBlock, 4}};
  then.blas = {{kHandle, 2, 0, 1, work, kBlock}, {0x777, 0, 1, 0, 0, 0}};
  s.restore(then);
  s.call(kHandle, "cublasSgemm_v2", o.slots(scalar(2.0f), scalar(0.0f)));
  s.synchronize();
  CHECK(s.download<float>(o.at_c, 15) == loop(3, 5, 4, 2, o.a, false, o.b, 0, o.c));
  s.call(0x777, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.0f)));
  s.synchronize();
  CHECK_EQUAL(s.fault_of(s.call(kOther, "cublasSgemm_v2", o.slots(scalar(1.0f), scalar(0.0f)))).status, 400u);
}

/// Addresses and sizes stay as they are: wrong ones are the GPU's business, and end the context.
CASE(blas_random_records_never_crash) {
  std::mt19937_64 random(23);
  BlasSession s;
  const uint64_t a = s.allocate(kBlock);
  Resources then;
  then.allocations = {{a, kBlock, 1}};
  then.blas = {{kHandle, 0, 0, 0, 0, 0}};
  s.restore(then);
  const Slots slots{number(0), number(0),  number(2), number(2),    number(2),  scalar(1.0f), address(a),
                    number(2), address(a), number(2), scalar(0.0f), address(a), number(2)};
  CallWriter call;
  call.begin(identifier("cublasSgemm_v2"));
  for (const Argument& one : slots) one.write(call);
  int ran = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::byte> payload(call.bytes().begin(), call.bytes().end());
    for (uint64_t changes = random() % 3; changes > 0; --changes) {
      const size_t slot = random() % slots.size();
      const size_t first = slots[slot].kind == ops::SlotKind::scalar ? 0 : sizeof(uint64_t);
      const size_t at = sizeof(ops::CallHead) + slot * sizeof(ops::CallSlot) + first;
      payload[at + random() % (sizeof(ops::CallSlot) - first)] = kSpoiled[random() % std::size(kSpoiled)];
    }
    if (random() % 9 == 0) payload[random() % sizeof(ops::CallHead)] = static_cast<std::byte>(random());
    if (random() % 9 == 0) payload.resize(random() % payload.size());
    ops::LibraryCall op;
    op.handle = kHandle;
    op.bytes = random() % 9 == 0 ? random() % 300 : payload.size();
    if (random() % 9 == 0) op.described = static_cast<uint32_t>(random() % 100);
    s.give(op, 0, payload.data(), payload.size());
    if (s.backend->idle()) {
      ++ran;
      continue;
    }
    s.sink.forget();
    s.restore(then);
  }
  CHECK(ran > kRounds / 10 && ran < kRounds * 9 / 10);
}

}  // namespace jitc::test
