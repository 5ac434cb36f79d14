// What a collective op becomes as calls of NCCL, and which ops never get there.
#include <bit>
#include <cmath>
#include <limits>

#include "device/cuda/collective/scalar.h"
#include "rank.h"

namespace jitc::test {
namespace {
constexpr uint64_t kComm = 0x500;

struct Alone {
  Segments segments;
  Rank rank{segments};
  Alone() {
    CHECK_EQUAL(rank.wait_result(rank.create(kComm, 1, 1, 0)).status, 0u);
    stub_take_log();
  }
  std::string calls(const std::vector<CollectiveItem>& items) {
    rank.collective(items);
    return stub_take_log();
  }
};

CollectiveItem premul(uint32_t dtype, double scale) {
  CollectiveItem made = item(kComm, CollectiveKind::all_reduce, dtype);
  made.reduction = static_cast<uint32_t>(ops::Reduction::premul_sum);
  made.scale = scale;
  return made;
}
}  // namespace

CASE(nccl_call_every_kind) {
  Alone alone;
  using K = CollectiveKind;
  CollectiveItem average = item(kComm, K::all_reduce, 9, 8);
  average.reduction = 4;
  CHECK_EQUAL(alone.calls({average}), "0: all_reduce 10000 18000 8 9 4\n--\n");
  CHECK_EQUAL(alone.calls({item(kComm, K::broadcast, 7, 4, 0)}), "0: broadcast 10000 18000 4 7 0\n--\n");
  CHECK_EQUAL(alone.calls({item(kComm, K::reduce, 2, 4, 0)}), "0: reduce 10000 18000 4 2 0 0\n--\n");
  CHECK_EQUAL(alone.calls({item(kComm, K::all_gather)}), "0: all_gather 10000 18000 4 7\n--\n");
  CHECK_EQUAL(alone.calls({item(kComm, K::reduce_scatter)}), "0: reduce_scatter 10000 18000 4 7 0\n--\n");
  CHECK_EQUAL(alone.calls({item(kComm, K::all_to_all)}), "0: send 10000 4 7 0\n0: receive 18000 4 7 0\n--\n");
  CHECK_EQUAL(alone.calls({item(kComm, K::send, 0, 3, 0), item(kComm, K::receive, 0, 3, 0)}),
              "0: send 10000 3 0 0\n0: receive 18000 3 0 0\n--\n");
}

CASE(nccl_call_one_buffer_of_a_broadcast) {
  Alone alone;
  CollectiveItem op = item(kComm, CollectiveKind::broadcast, 7, 4, 0);
  op.receive = 0;
  CHECK_EQUAL(alone.calls({op}), "0: broadcast 10000 10000 4 7 0\n--\n");
}

CASE(nccl_call_all_to_all_goes_by_parts) {
  Segments segments;
  Rank a(segments), b(segments);
  a.create(kComm, 1, 2, 0);
  b.wait_result(b.create(kComm, 1, 2, 1));
  b.collective({item(kComm, CollectiveKind::all_to_all, 6, 16)});
  CHECK_EQUAL(
      std::string(stub_take_log()),
      "1: send 10000 16 6 0\n1: receive 18000 16 6 0\n1: send 10020 16 6 1\n1: receive 18020 16 6 1\n--\n");
}

CASE(nccl_call_factors) {
  Alone alone;
  const auto factor = [&](uint32_t dtype, double scale) {
    const std::string log = alone.calls({premul(dtype, scale)});
    return log.substr(0, log.find('\n'));
  };
  CHECK_EQUAL(factor(0, -3), "premul 0 host fd");
  CHECK_EQUAL(factor(1, 255), "premul 1 host ff");
  CHECK_EQUAL(factor(2, -2), "premul 2 host fe ff ff ff");
  CHECK_EQUAL(factor(3, 4294967295.0), "premul 3 host ff ff ff ff");
  CHECK_EQUAL(factor(4, 3), "premul 4 host 03 00 00 00 00 00 00 00");
  CHECK_EQUAL(factor(6, 0.5), "premul 6 host 00 38");
  CHECK_EQUAL(factor(7, 0.25), "premul 7 host 00 00 80 3e");
  CHECK_EQUAL(factor(8, 0.25), "premul 8 host 00 00 00 00 00 00 d0 3f");
  CHECK_EQUAL(factor(9, 0.25), "premul 9 host 80 3e");
  for (const double bad : {256.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e300})
    CHECK_EQUAL(refusal([&] { alone.rank.collective({premul(1, bad)}); })->status, 1u);
  CollectiveItem on_device = premul(7, 9);
  on_device.scale_address = Rank::kBase + 64;
  CHECK_EQUAL(alone.calls({on_device}), "premul 7 device 10040\n0: all_reduce 10000 18000 4 7 17\n--\n");
}

CASE(nccl_call_halves_are_rounded_to_nearest) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double value = exponent ? std::ldexp(1024 + (bits & 1023), exponent - 25) : std::ldexp(bits, -24);
    CHECK_EQUAL(cuda::half_of(value), bits);
    CHECK_EQUAL(cuda::half_of(-value), bits | 0x8000);
  }
  CHECK_EQUAL(cuda::half_of(1 + 0x1p-11), 0x3c00);  // a tie goes to even
  CHECK_EQUAL(cuda::half_of(1 + 3 * 0x1p-11), 0x3c02);
  CHECK_EQUAL(cuda::half_of(65519), 0x7bff);
  CHECK_EQUAL(cuda::half_of(65520), 0x7c00);
  CHECK_EQUAL(cuda::bfloat16_of(1 + 0x1p-8f), 0x3f80);
  CHECK_EQUAL(cuda::bfloat16_of(1 + 3 * 0x1p-8f), 0x3f82);
  CHECK_EQUAL(cuda::bfloat16_of(std::numeric_limits<float>::max()), 0x7f80);
}

CASE(nccl_call_nothing_to_move) {
  Alone alone;
  CHECK_EQUAL(alone.calls({item(kComm, CollectiveKind::all_reduce, 7, 0)}), "--\n");
  CHECK_EQUAL(alone.calls({}), "");
}

CASE(nccl_call_a_refused_group_leaves_none_open) {
  Alone alone;
  stub_set("fail_call", 1);
  const auto refused = refusal([&] { alone.rank.collective({item(kComm, CollectiveKind::all_reduce)}); });
  CHECK(refused && refused->status == 1u);
  stub_set("fail_call", 0);
  CHECK_EQUAL(alone.calls({item(kComm, CollectiveKind::all_gather)}), "0: all_gather 10000 18000 4 7\n--\n");
}

CASE(nccl_call_injection_lies_between_call_and_end) {
  Alone alone;
  std::string seen;
  alone.rank.sink.on_injection = [&](const ops::OpHeader&, std::string_view) { seen = stub_take_log(); };
  alone.rank.collective({item(kComm, CollectiveKind::all_gather)});
  CHECK_EQUAL(seen, "0: all_gather 10000 18000 4 7\n--\n");
}

}  // namespace jitc::test
