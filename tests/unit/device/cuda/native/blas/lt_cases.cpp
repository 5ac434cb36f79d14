// cuBLASLt on the fake library: heuristics, products with their algorithm, epilogues, errors, bytes of all
// kinds.
#include <cmath>
#include <random>

#include "blas_client.h"
#include "device/resources.h"

namespace jitc::test {
namespace {
constexpr int32_t kF32 = 0, kCompute32F = 68, kMode = 2, kEpilogue = 7, kBias = 8, kMaxWorkspace = 1;
constexpr int64_t kSide = 4;
using Kind = ops::ObjectKind;

Description product_of_squares() {
  Description out;
  out.object(Kind::lt_descriptor, {kCompute32F, kF32});
  return out.square(kF32, kSide);
}
Description question(uint64_t workspace) {
  Description out = product_of_squares();
  out.object(Kind::lt_preference);
  return workspace ? out.attribute(kMaxWorkspace, workspace) : out;
}

struct Answer {
  uint32_t status;  // of the op
  int32_t blas;
  std::vector<LtResult> found;
};
Answer ask(BlasSession& s, const Description& description, uint32_t requested) {
  const auto [op, payload] = question_of(description, requested);
  const Reply reply = s.sink.wait_result(s.give(op, 0, payload.data(), payload.size()));
  if (reply.status) return {reply.status, 0, {}};
  Answer out{0, reply.value<int32_t>(), {}};
  const size_t results = requested * sizeof(LtResult);
  CHECK_EQUAL(reply.payload.size(), 8 + (out.blas ? 0 : results + sizeof(int32_t)));
  if (out.blas) return out;
  const auto count = reply.value<int32_t>(8 + results);
  for (int32_t i = 0; i < count; ++i)
    out.found.push_back(reply.value<LtResult>(8 + static_cast<size_t>(i) * sizeof(LtResult)));
  return out;
}

/// Two matrices whose product shows in which order it was summed.
struct Squares {
  std::vector<float> a, b;
  uint64_t at_a, at_b, at_d, work;
  explicit Squares(BlasSession& s)
      : a(filled(1)),
        b(filled(2)),
        at_a(s.upload(a)),
        at_b(s.upload(b)),
        at_d(s.allocate(4096)),
        work(s.allocate(kBlock)) {}
  static std::vector<float> filled(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> out(kSide * kSide);
    for (float& one : out)
      one = std::ldexp(static_cast<float>(random() % 1000) - 500, static_cast<int>(random() % 24));
    return out;
  }
  LtProduct product() const {
    LtProduct out;
    out.a = at_a, out.b = at_b, out.c = out.d = at_d;
    out.workspace = work, out.workspace_bytes = kBlock;
    return out;
  }
  std::vector<float> loop(bool backwards) const {
    std::vector<float> out(kSide * kSide);
    for (size_t column = 0; column < kSide; ++column)
      for (size_t row = 0; row < kSide; ++row) {
        float sum = 0;
        for (size_t step = 0; step < kSide; ++step) {
          const size_t i = backwards ? kSide - 1 - step : step;
          sum += a[i * kSide + row] * b[column * kSide + i];
        }
        out[column * kSide + row] = sum;
      }
    return out;
  }
};

uint64_t multiply(BlasSession& s, const LtProduct& product, const Description& description,
                  uint64_t stream = 0) {
  const auto [op, payload] = product.with(description);
  return s.give(op, stream, payload.data(), payload.size());
}

std::vector<float> result(BlasSession& s, const Squares& squares) {
  s.synchronize();
  return s.download<float>(squares.at_d, kSide * kSide);
}
}  // namespace

CASE(lt_heuristics_are_those_of_the_library) {
  BlasSession s;
  const Answer both = ask(s, question(kBlock), 8), one = ask(s, question(0), 8),
               first = ask(s, question(kBlock), 1);
  CHECK_EQUAL(both.blas, 0);
  CHECK_EQUAL(both.found.size(), 2u);
  CHECK_EQUAL(both.found[0].workspace, uint64_t{1} << 20);
  CHECK_EQUAL(both.found[1].workspace, 0u);
  CHECK_EQUAL(one.found.size(), 1u);
  CHECK(one.found[0].algorithm.data == both.found[1].algorithm.data);
  CHECK_EQUAL(first.found.size(), 1u);
}

CASE(lt_what_is_not_supported_stays_visible) {
  BlasSession s;
  Description strange;
  strange.object(Kind::lt_descriptor, {kCompute32F, kF32})
      .attribute(kEpilogue, int32_t{152})
      .square(kF32, kSide);
  strange.object(Kind::lt_preference);
  const Answer answer = ask(s, strange, 4);
  CHECK_EQUAL(answer.status, 0u);
  CHECK_EQUAL(answer.blas, 15);
  CHECK(answer.found.empty());
  CHECK_EQUAL(ask(s, question(0), 0).blas, 7);  // none asked for
}

CASE(lt_the_given_algorithm_runs) {
  BlasSession s;
  const Squares squares(s);
  const auto found = ask(s, question(kBlock), 2).found;
  CHECK(squares.loop(true) != squares.loop(false));
  for (size_t i = 0; i < found.size(); ++i) {
    LtProduct product = squares.product();
    product.algorithm = found[i].algorithm;
    multiply(s, product, product_of_squares());
    CHECK(result(s, squares) == squares.loop(i == 0));
  }
  multiply(s, squares.product(), product_of_squares());
  CHECK(result(s, squares) == squares.loop(false));  // the library's choice
}

CASE(lt_scalars_epilogue_and_stream) {
  BlasSession s;
  const Squares squares(s);
  s.stream(0x1001);
  const uint64_t scalars = s.upload(std::vector<float>{2, 0}),
                 bias = s.upload(std::vector<float>{1, -1e30f, 3, 4});
  Description description;
  description.object(Kind::lt_descriptor, {kCompute32F, kF32}).attribute(kMode, int32_t{1});
  description.attribute(kEpilogue, uint32_t{6}).attribute(kBias, bias).square(kF32, kSide);
  LtProduct product = squares.product();
  product.alpha = address(scalars), product.beta = address(scalars + 4);
  multiply(s, product, description, 0x1001);
  const auto found = result(s, squares);
  const auto plain = squares.loop(false);
  const float biases[] = {1, -1e30f, 3, 4};
  for (size_t i = 0; i < found.size(); ++i) {
    const double value = 2.0 * plain[i] + biases[i % kSide];
    CHECK(std::abs(found[i] - std::max(value, 0.0)) <= std::abs(value) * 1e-6);
  }
  CHECK_EQUAL(found[1], 0.0f);
}

/// The log tells: test_objects_of_a_product_are_kept.
CASE(lt_objects_are_kept_by_their_description) {
  BlasSession s;
  const Squares squares(s);
  for (int i = 0; i < 5; ++i) multiply(s, squares.product(), product_of_squares());
  for (uint64_t bias = 0; bias < 600; ++bias) {
    Description other;
    other.object(Kind::lt_descriptor, {kCompute32F, kF32}).attribute(kBias, bias).square(kF32, kSide);
    multiply(s, squares.product(), other);
  }
  CHECK(result(s, squares) == squares.loop(false));
}

CASE(lt_errors_of_a_product_name_function_and_status) {
  BlasSession s;
  const Squares squares(s);
  LtProduct product = squares.product();
  product.algorithm.emplace().data[0] = 12345;  // none that a heuristic gave
  const auto fault = s.fault_of(multiply(s, product, product_of_squares()));
  CHECK_EQUAL(fault.status, 1u);
  CHECK(contains(fault.message, "cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE (7)"));
}

CASE(lt_malformed_products_are_refused) {
  const auto status = [](const std::function<void(LtProduct&, Description&, size_t&)>& spoil) {
    BlasSession s;
    const Squares squares(s);
    LtProduct product = squares.product();
    Description description = product_of_squares();
    size_t cut = 0;
    spoil(product, description, cut);
    auto [op, payload] = product.with(description);
    payload.resize(payload.size() - std::min(cut, payload.size()));
    return s.fault_of(s.give(op, 0, payload.data(), payload.size())).status;
  };
  CHECK_EQUAL(status([](auto&, auto&, size_t& cut) { cut = 8; }), 1u);
  CHECK_EQUAL(status([](auto&, auto&, size_t& cut) { cut = 700; }), 1u);
  CHECK_EQUAL(status([](LtProduct& p, auto&, size_t&) { p.alpha = address(p.a); }), 1u);
  CHECK_EQUAL(status([](LtProduct& p, auto&, size_t&) { p.beta = number(1); }), 1u);
  CHECK_EQUAL(status([](auto&, Description& d, size_t&) { d = {}; }), 1u);
  CHECK_EQUAL(status([](auto&, Description& d, size_t&) {
                d = {};
                d.square(kF32, kSide).object(Kind::lt_descriptor, {kCompute32F, kF32});
              }),
              1u);  // a layout where the descriptor should be
  const auto with_mode = [&](int32_t mode) {
    return status([mode](auto&, Description& d, size_t&) {
      d = {};
      d.object(Kind::lt_descriptor, {kCompute32F, kF32}).attribute(kMode, mode).square(kF32, kSide);
    });
  };
  CHECK_EQUAL(with_mode(1), 1u);  // scalars by value, but the mode says addresses
  CHECK_EQUAL(with_mode(77), 1u);
  Options none;
  BlasSession s(none);
  CHECK_EQUAL(ask(s, question(0), 1).status, 801u);
}

/// Whether a byte of a product's payload is of an address or a size: wrong ones are the GPU's business, and
/// end the context. Of a slot that is no scalar the first 8 bytes.
static bool is_value(std::span<const std::byte> payload, size_t at) {
  const size_t slot = at / 8 * 8;
  if (slot + sizeof(ops::CallSlot) > payload.size()) return false;
  ops::CallSlot found;
  std::memcpy(&found, payload.data() + slot, sizeof found);
  return found.bytes == 8 &&
         (is_kind(found, ops::SlotKind::number) || is_kind(found, ops::SlotKind::address));
}

CASE(lt_random_payloads_never_crash) {
  std::mt19937_64 random(29);
  BlasSession s;
  const Squares squares(s);
  Resources then;
  then.allocations = {{squares.at_a, 4096, 1}, {squares.at_b, 4096, 2}, {squares.at_d, 4096, 3}};
  const auto asked = question_of(question(kBlock), 3);
  const auto product = squares.product().with(product_of_squares());
  int ran = 0;
  constexpr int kRounds = 3000;
  const auto spoiled = [&](auto carried, bool asks) {
    auto& payload = carried.payload;
    for (uint64_t changes = random() % 3; changes > 0; --changes) {
      const size_t at = random() % payload.size();
      if (asks || !is_value(payload, at)) payload[at] = kSpoiled[random() % std::size(kSpoiled)];
    }
    if (random() % 9 == 0) payload.resize(random() % payload.size());
    if (random() % 9 == 0) carried.op.bytes = random() % 3000;
    if (random() % 9 == 0) carried.op.described = static_cast<uint32_t>(random() % 3000);
    if (random() % 9 == 0) carried.op.objects = static_cast<uint32_t>(random() % 9);
    return carried;
  };
  for (int round = 0; round < kRounds; ++round) {
    const auto give = [&](const auto& one) { s.give(one.op, 0, one.payload.data(), one.payload.size()); };
    random() % 2 == 0 ? give(spoiled(asked, true)) : give(spoiled(product, false));
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
