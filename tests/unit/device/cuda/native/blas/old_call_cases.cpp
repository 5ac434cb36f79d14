// cuBLAS and cuBLASLt calls in the ops of before (recorded_calls.h): computed and answered as ever, and the
// same calls as clients send them today.
#include <algorithm>
#include <cmath>
#include <random>

#include "blas_client.h"
#include "device/cuda/blas/old_calls.h"
#include "device/cuda/driver/error.h"
#include "recorded_calls.h"

namespace jitc::test {
namespace {

using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;
constexpr int kM = 3, kN = 5, kK = 4;

/// The record, with the addresses of this run.
Bytes recorded(std::string_view text, uint64_t base) {
  Bytes out;
  for (size_t at = 0; at < text.size(); at += 2)
    out.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(at, 2)), nullptr, 16)));
  for (size_t at = sizeof(ops::OpHeader); at + 8 <= out.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, out.data() + at, sizeof word);
    if (word < kRecordedBase || word - kRecordedBase >= 7 * kBlock) continue;
    word = word - kRecordedBase + base;
    std::memcpy(out.data() + at, &word, sizeof word);
  }
  return out;
}

template <class Op>
struct Recorded {
  explicit Recorded(std::string_view text, uint64_t base = kRecordedBase) : bytes(recorded(text, base)) {
    CHECK_EQUAL(op().header.op, static_cast<uint16_t>(Op::kId));
  }
  Op& op() { return *reinterpret_cast<Op*>(bytes.data()); }
  std::span<const std::byte> payload() const { return std::span(bytes).subspan(sizeof(Op)); }
  Bytes bytes;
};

/// A session with the matrices of the records.
struct Before : BlasSession {
  Floats a = filled(kM * kK, 1), b = filled(kK * kN, 2), c = filled(kM * kN, 3);
  uint64_t at_c, at_result;

  Before() {
    CHECK_EQUAL(upload(a), base);
    upload(b);
    at_c = upload(c);
    upload(Floats{0.25f, 3});
    at_result = allocate(4096);
    upload(Floats{1, -100, 3});
    allocate(kBlock);
    give(kRecordedCreate);
  }
  using BlasSession::give;
  uint64_t give(std::string_view text) {
    const Bytes record = recorded(text, base);
    ops::OpHeader header;
    std::memcpy(&header, record.data(), sizeof header);
    return give_record(record.data(), record.size(), header.op, header.stream, nullptr, 0);
  }
  static Floats filled(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    Floats out(count);
    for (float& one : out) one = static_cast<float>(static_cast<int>(random() % 17) - 8) / 4;
    return out;
  }
  Floats loop(float alpha, float beta, bool transposed = false) const {
    Floats out = c;
    for (size_t column = 0; column < kN; ++column)
      for (size_t row = 0; row < kM; ++row) {
        float sum = 0;
        for (size_t i = 0; i < kK; ++i)
          sum += a[transposed ? row * kK + i : i * kM + row] * b[column * kK + i];
        out[column * kM + row] = alpha * sum + beta * out[column * kM + row];
      }
    return out;
  }
  /// c, which is then as it was.
  Floats result() {
    synchronize();
    const Floats out = download<float>(at_c, c.size());
    CHECK(backend->write(at_c, std::as_bytes(std::span(c))));
    return out;
  }
};

/// What library_call carries of a call.
template <class Old, class New>
void check_same(std::string_view before, std::string_view today) {
  Recorded<Old> old(before);
  Recorded<New> now(today);
  const cuda::OldCall translated(old.op(), old.payload());
  const auto request = translated.request();
  CHECK_EQUAL(request.objects, now.op().objects);
  CHECK_EQUAL(request.described.size(), now.op().described);
  CHECK(std::ranges::equal(request.described, now.payload().first(now.op().described)));
  const auto call = now.payload().first(now.op().bytes).subspan(now.op().described);
  CHECK(std::ranges::equal(request.call, call));
}

}  // namespace

CASE(old_calls_are_those_of_today_in_another_form) {
  check_same<ops::BlasCall, ops::LibraryCall>(kRecordedProduct, kTodayProduct);
  check_same<ops::BlasCall, ops::LibraryCall>(kRecordedComplex, kTodayComplex);
  check_same<ops::BlasCall, ops::LibraryCall>(kRecordedTyped, kTodayTyped);
  check_same<ops::BlasCall, ops::LibraryCall>(kRecordedByAddress, kTodayByAddress);
  check_same<ops::BlasCall, ops::LibraryCall>(kRecordedDot, kTodayDot);
  check_same<ops::LtHeuristic, ops::LibraryAsk>(kRecordedHeuristic, kTodayHeuristic);
  check_same<ops::LtMatmul, ops::LibraryCall>(kRecordedLt, kTodayLt);
  check_same<ops::LtMatmul, ops::LibraryCall>(kRecordedLtByAddress, kTodayLtByAddress);
}

CASE(old_blas_calls_compute_as_ever) {
  Before s;
  s.give(kRecordedProduct);
  CHECK(s.result() == s.loop(0.5f, -2, true));
  s.give(kRecordedTyped);
  CHECK(s.result() == s.loop(1, 0));
  s.give(kRecordedMode);
  s.give(kRecordedByAddress);
  CHECK(s.result() == s.loop(0.25f, 3));
  s.give(kRecordedDot);
  s.synchronize();
  float sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += s.a[i] * s.b[i];
  CHECK_EQUAL(s.download<float>(s.at_result, 1)[0], sum);
  const auto fault = s.fault_of(s.give(kRecordedComplex));  // the fake has no such function
  CHECK_EQUAL(fault.status, 801u);
  CHECK(contains(fault.message, "cublasZgemm_v2"));
}

CASE(old_heuristics_are_answered_as_ever) {
  Before s;
  const Reply reply = s.sink.wait_result(s.give(kRecordedHeuristic));
  CHECK_EQUAL(reply.status, 0u);
  CHECK_EQUAL(reply.value<int32_t>(), 0);
  CHECK_EQUAL(reply.value<uint32_t>(4), 2u);
  CHECK_EQUAL(reply.payload.size(), 8 + 2 * sizeof(LtResult));
  CHECK_EQUAL(reply.value<LtResult>(8).workspace, uint64_t{1} << 20);
  Recorded<ops::LtHeuristic> none(kRecordedHeuristic, s.base);
  none.op().requested = 0;
  const Reply empty = s.sink.wait_result(s.give(none.op(), 0, none.payload().data(), none.payload().size()));
  CHECK_EQUAL(empty.value<int32_t>(), 7);
  CHECK_EQUAL(empty.payload.size(), 8u);
}

CASE(old_products_compute_as_ever) {
  Before s;
  const auto check = [&](std::string_view record, float alpha, float beta) {
    s.give(record);
    const Floats found = s.result(), plain = s.loop(alpha, beta);
    const float biases[] = {1, -100, 3};
    for (size_t i = 0; i < found.size(); ++i)
      CHECK(std::abs(found[i] - std::max(plain[i] + biases[i % kM], 0.0f)) < 1e-4f);
  };
  check(kRecordedLt, 0.5f, -1);
  check(kRecordedLtByAddress, 0.25f, 3);
}

CASE(old_calls_that_are_malformed_are_refused) {
  const auto refused = [](auto recorded, auto&& spoil) {
    spoil(recorded);
    try {
      const cuda::OldCall call(recorded.op(), recorded.payload());
      return false;
    } catch (const cuda::OpError& error) {
      return error.status == 1;
    }
  };
  const Recorded<ops::BlasCall> call(kRecordedProduct);
  const Recorded<ops::LtMatmul> product(kRecordedLt);
  const auto slot = [](auto& one) { return reinterpret_cast<ops::BlasSlot*>(&one.op() + 1); };
  CHECK(!refused(call, [](auto&) {}) && !refused(product, [](auto&) {}));
  CHECK(refused(call, [](auto& one) { one.op().slots = 14; }));
  CHECK(refused(call, [](auto& one) { one.op().slots = UINT32_MAX; }));
  CHECK(refused(call, [&](auto& one) { slot(one)->kind = 3; }));
  CHECK(refused(call, [&](auto& one) { slot(one)->bytes = 4; }));
  CHECK(refused(call, [&](auto& one) { slot(one)[5].bytes = 17; }));
  CHECK(refused(call, [&](auto& one) { slot(one)[5].bytes = 0; }));
  CHECK(refused(product, [](auto& one) { one.op().bytes += 8; }));
  CHECK(refused(product, [](auto& one) { one.op().bytes -= 8; }));
  CHECK(refused(product, [](auto& one) { one.op().bytes = UINT64_MAX; }));
  CHECK(refused(product, [](auto& one) { one.bytes.resize(sizeof(ops::LtMatmul) + 50); }));
  CHECK(refused(product, [&](auto& one) {
    reinterpret_cast<ops::LtObject*>(reinterpret_cast<std::byte*>(slot(one) + 2) + 64)->attributes =
        UINT32_MAX;
  }));
}

/// Of any bytes: refused, or made into a call of which the rest of the device trusts nothing.
CASE(old_random_payloads_never_do_harm) {
  std::mt19937_64 random(31);
  const auto spoil = [&](auto one) {
    for (uint64_t changes = random() % 4; changes > 0; --changes)
      one.bytes[sizeof(ops::OpHeader) + random() % (one.bytes.size() - sizeof(ops::OpHeader))] =
          static_cast<std::byte>(random() % 9);
    if (random() % 4 == 0) one.bytes.resize(sizeof one.op() + random() % 700);
    try {
      const cuda::OldCall call(one.op(), one.payload());
      const auto request = call.request();
      cuda::Description(request.described, request.objects, false);
      cuda::read_call(request.call, request.objects);
      return 1;
    } catch (const cuda::OpError&) {
      return 0;
    }
  };
  const Recorded<ops::BlasCall> call(kRecordedProduct);
  const Recorded<ops::LtHeuristic> question(kRecordedHeuristic);
  const Recorded<ops::LtMatmul> product(kRecordedLt);
  int taken = 0;
  for (int round = 0; round < 20000; ++round) taken += spoil(call) + spoil(question) + spoil(product);
  CHECK(taken > 6000 && taken < 54000);
}

}  // namespace jitc::test
