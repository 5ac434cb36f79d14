// Calls from slots: every cuBLAS function gets its arguments in order; what is malformed reaches no library.
#include <algorithm>
#include <map>
#include <random>

#include "blas_client.h"
#include "cases.h"
#include "device/cuda/blas/lt_objects.h"
#include "device/cuda/driver/error.h"
#include "jitc/generated_lt.h"

namespace jitc::test {
namespace {
using cuda::CallArguments;
using cuda::CallFunction;
using cuda::SlotRole;
using Kind = ops::SlotKind;

// Stands for any of the functions: all their arguments are passed as words (x86-64 and AArch64).
constexpr size_t kWords = 24;
uint64_t words[kWords];
void* given_handle;
int32_t record(void* handle, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
               uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, uint64_t m, uint64_t n,
               uint64_t o, uint64_t p, uint64_t q, uint64_t r, uint64_t s, uint64_t t, uint64_t u, uint64_t v,
               uint64_t w, uint64_t x) {
  const uint64_t all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x};
  std::copy(std::begin(all), std::end(all), words);
  given_handle = handle;
  return 15;
}

/// Where the status on the host stands among a function's arguments.
std::optional<size_t> place_of_info(std::string_view name) {
  const std::map<std::string_view, size_t> places{
      {"getrsBatched", 8}, {"geqrfBatched", 5}, {"gelsBatched", 8}};
  const auto found = places.find(name.substr(std::string_view("cublasS").size()));
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

/// A call with these arguments, and the bytes that it is read from.
struct Written {
  explicit Written(const Slots& slots) {
    CallWriter call;
    call.begin(0);
    for (const Argument& one : slots) one.write(call);
    bytes.assign(call.bytes().begin(), call.bytes().end());
  }
  cuda::Invocation read() const { return cuda::read_call(bytes, 0); }
  std::vector<std::byte> bytes;
};

Argument slot_for(cuda::SlotRule rule, size_t at, bool on_device) {
  switch (rule.role) {
    case SlotRole::number:
      return number(rule.bytes == 4 ? -3 * int64_t(at + 1) : -(int64_t(at + 1) << 40));
    case SlotRole::scalar:
      if (!on_device) {
        Argument out{Kind::scalar, {}, rule.bytes ? rule.bytes : 16u};
        for (size_t i = 0; i < out.bytes; ++i) out.value[i] = static_cast<std::byte>(i + at);
        return out;
      }
      [[fallthrough]];
    default:
      return address(0x700000000000 + at);
  }
}

Slots slots_of(const CallFunction& function, bool on_device) {
  Slots out;
  for (size_t at = 0; at < function.signature.rules.size(); ++at)
    out.push_back(slot_for(function.signature.rules[at], at, on_device));
  return out;
}

bool has_role(const CallFunction& function, SlotRole role) {
  return std::any_of(function.signature.rules.begin(), function.signature.rules.end(),
                     [&](const auto& rule) { return rule.role == role; });
}

/// That the words which the function was given are those of the call.
void check_words(const CallFunction& function, const cuda::Invocation& call, CallArguments& arguments) {
  const auto info = place_of_info(function.name);
  size_t word = 0;
  for (size_t at = 0; at < call.slots.size(); ++at, ++word) {
    const SlotView& slot = call.slots[at];
    const cuda::SlotRule& rule = function.signature.rules[at];
    if (info == word) CHECK_EQUAL(words[word++], reinterpret_cast<uint64_t>(arguments.info()));
    std::array<std::byte, 16> own{};
    std::copy(slot.data.begin(), slot.data.end(), own.begin());
    if (slot.is(Kind::scalar))
      CHECK(std::memcmp(reinterpret_cast<const void*>(words[word]), own.data(), own.size()) == 0);
    else if (rule.role == SlotRole::number && rule.bytes == 4)
      CHECK_EQUAL(uint32_t(words[word]), uint32_t(slot.slot.value));
    else
      CHECK_EQUAL(words[word], slot.is(Kind::null) ? 0 : slot.slot.value);
  }
}

/// Calls the recorder instead of the function.
void invoke(const CallFunction& function, const cuda::Invocation& call) {
  int handle = 0;
  CallArguments arguments(&handle, &handle, nullptr, call, {});
  CHECK_EQUAL(function.signature.invoke(reinterpret_cast<void*>(&record), arguments), 15);
  CHECK(given_handle == &handle);
  check_words(function, call, arguments);
}

std::optional<std::string> refusal(const CallFunction& function, const Written& written) {
  try {
    cuda::check_slots(function, written.read(), {});
  } catch (const cuda::OpError& error) {
    return error.message;
  }
  return std::nullopt;
}

std::span<const CallFunction> functions() { return {cuda::kBlasFunctions, cuda::kBlasFunctionsCount}; }

const CallFunction& function_named(std::string_view name) {
  for (const CallFunction& one : functions())
    if (name == one.name) return one;
  throw Failure{"no function " + std::string(name)};
}
}  // namespace

CASE(blas_every_function_gets_its_arguments_in_order) {
  for (const CallFunction& function : functions())
    for (const bool on_device : {false, true}) {
      if (!on_device && has_role(function, SlotRole::output)) continue;
      const Written written(slots_of(function, on_device));
      const auto mode = check_slots(function, written.read(), {});
      const bool says = has_role(function, SlotRole::scalar) || has_role(function, SlotRole::output);
      CHECK_EQUAL(static_cast<int>(mode), !says ? -1 : on_device ? 1 : 0);
      invoke(function, written.read());
    }
  CHECK(functions().size() > 150);
}

CASE(calls_find_their_functions) {
  const cuda::LibraryFunctions none("libnone", functions(), nullptr);
  for (const CallFunction& function : functions()) CHECK(&none.find(function.id) == &function);
  for (const auto& [id, changes] : {std::pair{0u, cuda::kNothing},
                                    {UINT32_MAX, cuda::kNothing},
                                    {functions()[0].id, ops::ObjectKind::tensor}})
    try {
      none.find(id, changes);
      throw Failure{"found"};
    } catch (const cuda::OpError& error) {
      CHECK_EQUAL(error.status, 801u);
    }
}

CASE(blas_scalars_lie_where_the_library_may_load_them) {
  const CallFunction& function = function_named("cublasZgemm_v2");
  const Written written(slots_of(function, false));
  invoke(function, written.read());
  CHECK_EQUAL(words[5] % 16, 0u);
  CHECK_EQUAL(words[10] % 16, 0u);
  CHECK(words[5] != words[10]);
}

CASE(blas_wrong_slots_are_refused_with_the_function_and_the_argument) {
  const CallFunction& gemm = function_named("cublasSgemm_v2");
  const Slots good = slots_of(gemm, false);
  CHECK(!refusal(gemm, Written(good)));
  const auto with = [&](size_t at, Argument wrong) {
    Slots slots = good;
    slots[at] = wrong;
    return refusal(gemm, Written(slots)).value_or("accepted");
  };
  CHECK_EQUAL(with(2, number(int64_t{1} << 31)), "cublasSgemm_v2: argument 3 does not fit in 32 bits");
  CHECK_EQUAL(with(2, address(1)), "cublasSgemm_v2: argument 3 is no number");
  CHECK_EQUAL(with(6, number(1)), "cublasSgemm_v2: argument 7 is no address");
  CHECK_EQUAL(with(5, scalar(1.0)), "cublasSgemm_v2: argument 6 is no scalar of the function's type");
  CHECK_EQUAL(with(5, number(1)), "cublasSgemm_v2: argument 6 is no scalar of the function's type");
  CHECK_EQUAL(with(5, Argument{Kind::array, {}, 4}),
              "cublasSgemm_v2: argument 6 is no scalar of the function's type");
  CHECK_EQUAL(with(10, address(1)), "cublasSgemm_v2: argument 11 mixes pointer modes");
  Slots few = good;
  few.pop_back();
  CHECK_EQUAL(refusal(gemm, Written(few)).value_or(""), "cublasSgemm_v2: 12 arguments instead of 13");
  const CallFunction& typed = function_named("cublasGemmEx");
  for (const uint32_t bytes : {0u, 17u}) {
    Slots wide = slots_of(typed, false);
    wide[5].bytes = bytes;
    Written written(wide);
    CHECK(refusal(typed, written).has_value());
  }
}

CASE(blas_a_null_slot_is_null_whatever_its_value) {
  const CallFunction& gemm = function_named("cublasSgemm_v2");
  Slots slots = slots_of(gemm, false);
  constexpr size_t kMatrix = 6;
  slots[kMatrix] = {};
  Written written(slots);
  const uint64_t somewhere = 0x900000000000000;
  std::memcpy(written.bytes.data() + sizeof(ops::CallHead) + kMatrix * sizeof(ops::CallSlot), &somewhere,
              sizeof somewhere);
  CHECK(written.read().slots[kMatrix].is(Kind::null) && written.read().slots[kMatrix].slot.value);
  invoke(gemm, written.read());
  CHECK_EQUAL(words[kMatrix], 0u);
}

/// Bytes of all kinds: refused, or with slots that a library can be called with.
CASE(blas_random_slots_never_do_harm) {
  std::mt19937_64 random(7);
  int called = 0;
  for (int round = 0; round < 200000; ++round) {
    const CallFunction& function = functions()[random() % functions().size()];
    Slots slots = slots_of(function, random() % 2 == 0);
    if (random() % 8 == 0) slots.resize(random() % 24);
    Written written(slots);
    for (uint64_t changes = random() % 3; changes > 0; --changes)
      written.bytes[random() % written.bytes.size()] = static_cast<std::byte>(random() % 12);
    if (refusal(function, written)) continue;
    invoke(function, written.read());
    ++called;
  }
  CHECK(called > 20000);
}

namespace {
/// Objects of a product with a few attributes; what is random is up to the caller.
Description random_description(std::mt19937_64& random) {
  Description out;
  const ops::ObjectKind kinds[] = {ops::ObjectKind::lt_descriptor, ops::ObjectKind::lt_layout,
                                   ops::ObjectKind::lt_layout,     ops::ObjectKind::lt_layout,
                                   ops::ObjectKind::lt_layout,     ops::ObjectKind::lt_preference};
  for (const auto kind : kinds) {
    out.object(kind, {1, 1, 1, 1});
    for (uint32_t number = 0; number < 40; ++number) {
      const uint32_t bytes = ops::lt_attribute_bytes(kind, number);
      const uint64_t value = random();
      if (bytes && random() % 4 == 0) out.attribute(number, &value, bytes);
    }
  }
  return out;
}

/// Why the bytes make no objects; empty: they do.
std::string complaint(std::span<const std::byte> bytes, uint32_t objects) {
  const auto library = cuda::CublasLt::open(JITC_TEST_CUBLASLT);
  try {
    CHECK_EQUAL(cuda::LtObjects(library, cuda::Description(bytes, objects, false)).all().size(), objects);
    return "";
  } catch (const cuda::OpError& error) {
    return error.message;
  } catch (const cuda::LibraryFailure& failure) {
    return failure.function;
  }
}
}  // namespace

CASE(lt_descriptions_are_taken_only_when_they_are_whole) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    const Description good = random_description(random);
    CHECK_EQUAL(complaint(good.bytes(), good.objects()), "");
    CHECK(!complaint(good.bytes(), good.objects() - 1).empty());
    CHECK(!complaint(good.bytes(), good.objects() + 1).empty());
    for (size_t size = 0; size < good.bytes().size(); size += 8)
      CHECK(!complaint(good.bytes().first(size), good.objects()).empty());
  }
}

CASE(lt_attributes_are_known_of_the_right_size_and_not_twice) {
  const auto of = [](auto describe) {
    Description out;
    describe(out.object(ops::ObjectKind::lt_descriptor, {68, 0}));
    return complaint(out.bytes(), out.objects());
  };
  CHECK_EQUAL(of([](Description& d) { d.attribute(3, int32_t{1}).attribute(8, uint64_t{1}); }), "");
  for (const uint32_t unknown : {38u, 0x10000u, UINT32_MAX})
    CHECK(!of([&](Description& d) { d.attribute(unknown, int32_t{1}); }).empty());
  CHECK(!of([](Description& d) { d.attribute(3, int64_t{1}); }).empty());
  CHECK(!of([](Description& d) { d.attribute(3, nullptr, 0); }).empty());
  CHECK(!of([](Description& d) { d.attribute(3, int32_t{1}).attribute(3, int32_t{1}); }).empty());
  CHECK(!of([](Description& d) { d.attribute(8, uint64_t{1}).attribute(3, int32_t{1}); }).empty());
  CHECK(!of([](Description& d) { d.object(ops::ObjectKind::tensor); }).empty());  // another library's
}

CASE(lt_random_descriptions_never_do_harm) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 20000; ++round) {
    const Description good = random_description(random);
    std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    for (uint64_t changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    complaint(bytes, good.objects());
  }
}

}  // namespace jitc::test
