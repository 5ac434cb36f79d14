// Calls from slots: every cuBLAS function gets its arguments in order; what is malformed reaches no library.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "cases.h"
#include "device/cuda/blas/blas_invoke.h"
#include "device/cuda/blas/lt_description.h"
#include "device/cuda/driver/error.h"
#include "jitc/generated_lt.h"

namespace jitc::test {
namespace {
using cuda::BlasFunction;
using cuda::CallMemory;
using cuda::SlotRole;
using Slots = std::vector<ops::BlasSlot>;

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

ops::BlasSlot slot(ops::BlasSlotKind kind, uint64_t value, uint32_t bytes = 8) {
  ops::BlasSlot out;
  std::memcpy(out.value.data(), &value, sizeof value);
  out.kind = static_cast<uint32_t>(kind);
  out.bytes = bytes;
  return out;
}

ops::BlasSlot slot_for(cuda::SlotRule rule, size_t at, bool on_device) {
  switch (rule.role) {
    case SlotRole::number32:
      return slot(ops::BlasSlotKind::number, static_cast<uint64_t>(-3 * int64_t(at + 1)));
    case SlotRole::number64:
      return slot(ops::BlasSlotKind::number, static_cast<uint64_t>(-(int64_t(at + 1) << 40)));
    case SlotRole::scalar:
      if (!on_device)
        return slot(ops::BlasSlotKind::scalar, 0x0102030405060700 + at, rule.bytes ? rule.bytes : 16);
      [[fallthrough]];
    default:
      return slot(ops::BlasSlotKind::address, 0x700000000000 + at);
  }
}

Slots slots_of(const BlasFunction& function, bool on_device) {
  Slots out;
  for (uint32_t at = 0; at < function.signature.slots; ++at)
    out.push_back(slot_for(function.signature.rules[at], at, on_device));
  return out;
}

bool has_role(const BlasFunction& function, SlotRole role) {
  const auto* const rules = function.signature.rules;
  return std::any_of(rules, rules + function.signature.slots,
                     [&](const auto& rule) { return rule.role == role; });
}

uint64_t value_of(const ops::BlasSlot& slot) { return cuda::slot_value<uint64_t>(slot); }

/// That the words which the function was given are those of the slots.
void check_words(const BlasFunction& function, const Slots& slots, const CallMemory& memory) {
  const auto info = place_of_info(function.name);
  size_t word = 0;
  for (size_t at = 0; at < slots.size(); ++at, ++word) {
    if (info == word) CHECK_EQUAL(words[word++], reinterpret_cast<uint64_t>(&memory.info));
    const bool narrow = function.signature.rules[at].role == SlotRole::number32;
    if (slots[at].kind == static_cast<uint32_t>(ops::BlasSlotKind::scalar))
      CHECK(std::memcmp(reinterpret_cast<const void*>(words[word]), slots[at].value.data(), 16) == 0);
    else
      CHECK_EQUAL(narrow ? uint32_t(words[word]) : words[word],
                  narrow ? uint32_t(value_of(slots[at])) : value_of(slots[at]));
  }
}

std::optional<std::string> refusal(const BlasFunction& function, const Slots& slots) {
  try {
    check_slots(function, slots.data(), static_cast<uint32_t>(slots.size()));
  } catch (const cuda::OpError& error) {
    return error.message;
  }
  return std::nullopt;
}

const BlasFunction& function_named(std::string_view name) {
  for (uint32_t i = 0; i < cuda::kBlasFunctionCount; ++i)
    if (name == cuda::kBlasFunctions[i].name) return cuda::kBlasFunctions[i];
  throw Failure{"no function " + std::string(name)};
}
}  // namespace

CASE(blas_every_function_gets_its_arguments_in_order) {
  for (uint32_t i = 0; i < cuda::kBlasFunctionCount; ++i) {
    const BlasFunction& function = cuda::kBlasFunctions[i];
    CHECK(cuda::find_blas_function(function.id) == &function);
    for (const bool on_device : {false, true}) {
      if (!on_device && has_role(function, SlotRole::result)) continue;
      const Slots slots = slots_of(function, on_device);
      const auto mode = check_slots(function, slots.data(), static_cast<uint32_t>(slots.size()));
      const bool says = has_role(function, SlotRole::scalar) || has_role(function, SlotRole::result);
      CHECK_EQUAL(static_cast<int>(mode), !says ? -1 : on_device ? 1 : 0);
      CallMemory memory;
      int handle = 0;
      CHECK_EQUAL(function.signature.invoke(reinterpret_cast<void*>(&record), &handle, slots.data(), memory),
                  15);
      CHECK(given_handle == &handle);
      check_words(function, slots, memory);
    }
  }
  CHECK(cuda::kBlasFunctionCount > 150);
  CHECK(cuda::find_blas_function(0) == nullptr && cuda::find_blas_function(UINT32_MAX) == nullptr);
}

CASE(blas_scalars_lie_where_the_library_may_load_them) {
  const BlasFunction& function = function_named("cublasZgemm_v2");
  const Slots slots = slots_of(function, false);
  CallMemory memory;
  function.signature.invoke(reinterpret_cast<void*>(&record), nullptr, slots.data(), memory);
  CHECK_EQUAL(words[5] % 16, 0u);
  CHECK_EQUAL(words[10] % 16, 0u);
  CHECK(words[5] != words[10]);
}

CASE(blas_wrong_slots_are_refused_with_the_function_and_the_argument) {
  const BlasFunction& gemm = function_named("cublasSgemm_v2");
  const Slots good = slots_of(gemm, false);
  CHECK(!refusal(gemm, good));
  const auto with = [&](size_t at, ops::BlasSlot wrong) {
    Slots slots = good;
    slots[at] = wrong;
    return refusal(gemm, slots).value_or("accepted");
  };
  using Kind = ops::BlasSlotKind;
  CHECK_EQUAL(with(2, slot(Kind::number, uint64_t{1} << 31)),
              "cublasSgemm_v2: argument 3 does not fit in 32 bits");
  CHECK_EQUAL(with(2, slot(Kind::address, 1)), "cublasSgemm_v2: argument 3 is no number");
  CHECK_EQUAL(with(2, slot(Kind::number, 1, 4)), "cublasSgemm_v2: argument 3 is no number");
  CHECK_EQUAL(with(6, slot(Kind::number, 1)), "cublasSgemm_v2: argument 7 is no address");
  CHECK_EQUAL(with(5, slot(Kind::scalar, 1, 8)),
              "cublasSgemm_v2: argument 6 is no scalar of the function's type");
  CHECK_EQUAL(with(5, slot(Kind::number, 1)),
              "cublasSgemm_v2: argument 6 is no scalar of the function's type");
  CHECK_EQUAL(with(5, slot(static_cast<Kind>(77), 1, 4)),
              "cublasSgemm_v2: argument 6 is no scalar of the function's type");
  CHECK_EQUAL(with(10, slot(Kind::address, 1)), "cublasSgemm_v2: argument 11 mixes pointer modes");
  Slots few = good;
  few.pop_back();
  CHECK_EQUAL(refusal(gemm, few).value_or(""), "cublasSgemm_v2: 12 arguments instead of 13");
  const BlasFunction& typed = function_named("cublasGemmEx");
  Slots wide = slots_of(typed, false);
  wide[5].bytes = 17;
  CHECK(refusal(typed, wide).has_value());
  wide[5].bytes = 0;
  CHECK(refusal(typed, wide).has_value());
}

/// Bytes of all kinds: refused, or with slots that a library can be called with.
CASE(blas_random_slots_never_do_harm) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200000; ++round) {
    const BlasFunction& function = cuda::kBlasFunctions[random() % cuda::kBlasFunctionCount];
    Slots slots = slots_of(function, random() % 2 == 0);
    for (uint64_t changes = random() % 3; changes > 0; --changes) {
      auto* const bytes = reinterpret_cast<uint8_t*>(&slots[random() % slots.size()]);
      bytes[random() % sizeof(ops::BlasSlot)] = static_cast<uint8_t>(random() % 9);
    }
    if (random() % 8 == 0) slots.resize(random() % 24);
    if (refusal(function, slots)) continue;
    CallMemory memory;
    function.signature.invoke(reinterpret_cast<void*>(&record), nullptr, slots.data(), memory);
    check_words(function, slots, memory);
  }
}

namespace {
/// A description with a few attributes; what is random is up to the caller.
std::vector<std::byte> description(std::mt19937_64& random, bool with_preference) {
  std::vector<std::byte> out;
  const auto append = [&](const auto& record) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&record);
    out.insert(out.end(), bytes, bytes + sizeof record);
  };
  const size_t items = with_preference ? 6 : 5;
  for (size_t at = 0; at < items; ++at) {
    ops::LtObject object;
    object.kind = at == 0 ? 0 : at == 5 ? 2 : 1;
    std::vector<ops::LtAttribute> attributes;
    for (uint32_t number = 0; number < 40; ++number) {
      const uint32_t bytes = ops::lt_attribute_bytes(static_cast<ops::LtKind>(object.kind), number);
      if (!bytes || random() % 4 != 0) continue;
      attributes.push_back({number, bytes, {}});
    }
    object.attributes = static_cast<uint32_t>(attributes.size());
    append(object);
    for (const auto& one : attributes) append(one);
  }
  return out;
}

bool parses(std::span<const std::byte> bytes, bool with_preference) {
  try {
    const cuda::LtDescription parsed(bytes, with_preference);
    return parsed.has_preference() == with_preference;
  } catch (const cuda::OpError&) {
    return false;
  }
}
}  // namespace

CASE(lt_descriptions_are_taken_only_when_they_are_whole) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    const bool with_preference = round % 2 == 0;
    const auto good = description(random, with_preference);
    CHECK(parses(good, with_preference));
    CHECK(!parses(good, !with_preference));
    for (size_t size = 0; size < good.size(); size += 8)
      CHECK(!parses(std::span(good).first(size), with_preference));
  }
}

CASE(lt_attributes_are_known_of_the_right_size_and_not_twice) {
  std::mt19937_64 random(13);
  auto good = description(random, false);
  while (reinterpret_cast<ops::LtObject*>(good.data())->attributes < 2) good = description(random, false);
  const auto with = [&](auto change) {
    auto bytes = good;
    change(reinterpret_cast<ops::LtAttribute*>(bytes.data() + sizeof(ops::LtObject)));
    return parses(bytes, false);
  };
  CHECK(with([](ops::LtAttribute*) {}));
  CHECK(!with([](ops::LtAttribute* a) { a->attribute = 38; }));
  CHECK(!with([](ops::LtAttribute* a) { a->attribute = 0x10000; }));
  CHECK(!with([](ops::LtAttribute* a) { a->bytes += 1; }));
  CHECK(!with([](ops::LtAttribute* a) { a->bytes = UINT32_MAX; }));
  CHECK(!with([](ops::LtAttribute* a) { a[1] = a[0]; }));
  CHECK(!with([](ops::LtAttribute* a) { std::swap(a[0], a[1]); }));
}

CASE(lt_random_descriptions_never_do_harm) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 20000; ++round) {
    const bool with_preference = random() % 2 == 0;
    auto bytes = description(random, with_preference);
    for (uint64_t changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    parses(bytes, with_preference);
  }
}

}  // namespace jitc::test
