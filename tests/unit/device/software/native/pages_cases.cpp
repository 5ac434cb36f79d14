// The pages under a session's addresses: what is open, and how many mappings that takes at worst.
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fstream>

#include "device/software/memory/pages.h"
#include "harness.h"

namespace jitc::test {
namespace {
using software::Pages;
constexpr uint64_t kUnits = 40000;
const uint64_t kStart = kBase + 40 * kRange;

uint64_t unit(uint64_t index) { return kStart + index * Pages::kUnit; }
char& at(uint64_t address) { return *reinterpret_cast<char*>(address); }

/// Mappings of this process in the range.
size_t mappings(uint64_t from, uint64_t to) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    const uint64_t start = std::stoull(line, nullptr, 16);
    count += start >= from && start < to;
  }
  return count;
}

sigjmp_buf back;
bool accessible(uint64_t address) {
  struct sigaction jump{}, before{};
  jump.sa_handler = [](int) { siglongjmp(back, 1); };
  sigaction(SIGSEGV, &jump, &before);
  const bool read =
      sigsetjmp(back, 1) == 0 && (static_cast<void>(*const_cast<volatile char*>(&at(address))), true);
  sigaction(SIGSEGV, &before, nullptr);
  return read;
}

struct Range {
  software::WatchedPages watched;
  Pages pages{watched};
  Range() {
    std::string error;
    if (!pages.reserve(kStart, kUnits * Pages::kUnit, error)) throw Failure{error};
  }
};
}  // namespace

CASE(pages_are_open_or_not_accessible) {
  Range range;
  CHECK(!accessible(unit(1)));
  CHECK(range.pages.open(unit(1), 4096));
  CHECK(accessible(unit(1)) && accessible(unit(2) - 1) && !accessible(unit(2)) && !accessible(unit(0)));
  at(unit(1)) = 7;
  range.pages.close(unit(1), 4096);
  CHECK(!accessible(unit(1)));
  CHECK(range.pages.open(unit(1), 2 * Pages::kUnit));
  CHECK_EQUAL(int{at(unit(1))}, 0);
}

CASE(pages_move_out_and_back_with_their_content) {
  Range range;
  CHECK(range.pages.open(unit(3), 3 * Pages::kUnit));
  at(unit(4)) = 9;
  std::byte* const content = range.pages.take_out(unit(4), Pages::kUnit);
  CHECK(content && content[0] == std::byte{9});
  range.pages.close(unit(4), Pages::kUnit);
  CHECK(!accessible(unit(4)) && accessible(unit(3)) && accessible(unit(5)));
  CHECK(range.pages.open(unit(4), Pages::kUnit));
  CHECK_EQUAL(int{at(unit(4))}, 0);
  range.pages.close(unit(4), Pages::kUnit);
  CHECK(range.pages.put_back(content, unit(4), Pages::kUnit));
  CHECK_EQUAL(int{at(unit(4))}, 9);
}

CASE(pages_take_a_bounded_number_of_mappings) {
  Range range;
  for (uint64_t i = 1; i < kUnits; i += 2) {  // written one by one, with gaps, then the gaps
    CHECK(range.pages.open(unit(i), 4096));
    if (i % 64 == 1) at(unit(i)) = 1;
  }
  CHECK(mappings(kStart, unit(kUnits)) <= 2 * 16384 + 10);
  for (uint64_t i = 0; i < kUnits; i += 2) CHECK(range.pages.open(unit(i), 4096));
  CHECK(mappings(kStart, unit(kUnits)) < 10);
  for (uint64_t i = 0; i < kUnits; i += 2) range.pages.close(unit(i), 4096);
  CHECK(mappings(kStart, unit(kUnits)) <= 2 * 16384 + 10);
  CHECK(!accessible(unit(0)));
  for (uint64_t i = 0; i < kUnits; i += 2) CHECK(range.pages.open(unit(i), 4096));
  for (uint64_t i = 0; i < kUnits; ++i) range.pages.close(unit(i), 4096);
  CHECK(mappings(kStart, unit(kUnits)) < 10);
  CHECK(!accessible(unit(1)) && !accessible(unit(kUnits - 1)));
}
}  // namespace jitc::test
