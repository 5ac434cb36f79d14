// Device variables behind aliases (jitc/variable_alias.h): the fake driver puts them somewhere else in a
// device that is made again.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/content_hash.h"
#include "device/cuda/access/block_copier.h"
#include "device/cuda/memory/driver_ranges.h"
#include "jitc/variable_alias.h"
#include "kernels.h"

namespace jitc::test {
namespace {
constexpr uint64_t kModule = KernelSession::kModule, kStream = KernelSession::kStream;
constexpr uint64_t kBump = 0x4002;
constexpr uint64_t kCounter = kFirstAlias, kTable = kFirstAlias + kAliasSpace;
constexpr uint64_t kCounterBytes = 8, kTableBytes = 64;

/// Where the driver puts variables of modules that are loaded from now on.
void put_variables(const char* where) { setenv("JITC_FAKE_VARIABLES", where, 1); }

std::vector<uint8_t> content(size_t bytes, uint8_t first) {
  std::vector<uint8_t> made(bytes);
  for (uint8_t& one : made) one = first++;
  return made;
}

std::span<const std::byte> bytes_of(const std::vector<uint8_t>& content) {
  return std::as_bytes(std::span(content));
}

class VariableSession : public KernelSession {
 public:
  using KernelSession::KernelSession;
  void begin() {
    KernelSession::begin();
    CHECK_EQUAL(function(kModule, kBump, "bump_global").status, 0u);
    CHECK_EQUAL(alias(kCounter, "counter").value<uint64_t>(), kCounterBytes);
    CHECK_EQUAL(alias(kTable, "table").value<uint64_t>(), kTableBytes);
  }
  Reply alias(uint64_t alias, const std::string& name, uint64_t module = kModule) {
    ops::VariableAlias op;
    op.module = module;
    op.alias = alias;
    op.bytes = name.size();
    return sink.wait_result(give(op, 0, name.data(), name.size()));
  }
  std::vector<uint8_t> bytes_at(uint64_t address, size_t bytes) { return download<uint8_t>(address, bytes); }
};

Resources with_variables(std::vector<Resources::Variable> variables) {
  Resources resources;
  resources.allocations = {{kBase, 4096, 0}};
  resources.streams = {{kStream, 1, 0}, {KernelSession::kSide, 1, 0}};
  resources.modules = {{kModule, all_kernels(), images().size(all_kernels())}};
  resources.functions = {{kBump, kModule, "bump_global", {}}};
  resources.variables = std::move(variables);
  return resources;
}

const Resources::Variable kCounterBehind{kModule, "counter", kCounter, kCounterBytes};
const Resources::Variable kTableBehind{kModule, "table", kTable, kTableBytes};

std::string restored(KernelSession& s, const Resources& resources) {
  std::string error;
  s.backend->fence();
  const bool done = s.backend->restore(resources, error);
  s.backend->unfence();
  s.go_back_to(500);
  return done ? "" : error;
}
}  // namespace

CASE(variable_behind_an_alias_is_memory) {
  VariableSession s;
  s.begin();
  const auto table = content(kTableBytes, 7);
  s.put(kCounter, {41, 0, 0, 0, 0, 0, 0, 0}, kStream);
  s.launch(kBump, {}, kStream);
  CHECK_EQUAL(s.sink.wait_result(s.get(kCounter, 8, kStream)).value<uint64_t>(), 42u);
  s.put(kTable, table, kStream);
  const uint64_t a = s.allocate(4096);
  s.copy(a, kTable + 8, 8, kStream);
  s.copy(kTable, a, 8, kStream);
  s.fill(kTable + 60, 4, 0xab, kStream);
  s.synchronize();
  auto expected = table;
  std::copy_n(table.begin() + 8, 8, expected.begin());
  std::fill_n(expected.begin() + 60, 4, uint8_t{0xab});
  CHECK(s.bytes_at(kTable, kTableBytes) == expected);
  CHECK_EQUAL(s.sink.wait_result(s.get(kTable + 1, kTableBytes)).status, 700u);
}

CASE(variable_behind_an_alias_is_hashed_copied_and_written) {
  VariableSession s;
  s.begin();
  const auto table = content(kTableBytes, 3);
  CHECK(s.backend->write(kTable, bytes_of(table)));
  std::array<Hash, 2> hashes;
  const std::array<MemoryRange, 2> ranges{{{kTable, kTableBytes}, {kTable, kTableBytes + 1}}};
  s.backend->hash_all(ranges, hashes);
  CHECK(hashes[0] == content_hash(bytes_of(table)) && hashes[1] == kNoHash);
  std::array<std::byte, kTableBytes> back{};
  Hash hash;
  CHECK(s.backend->read_hashed(kTable, back, hash) && hash == hashes[0]);
  CHECK(std::ranges::equal(back, bytes_of(table)));
  back = {};
  CHECK(s.backend->read(kTable, back) && std::ranges::equal(back, bytes_of(table)));
  CHECK(!s.backend->read(kTable + 8, back));
  std::vector<std::byte> arena(4096);
  s.backend->copier()->use(arena);
  CHECK(s.backend->copier()->copy(std::vector<BlockCopy>{{kTable, std::span(arena).first(kTableBytes)}}));
  CHECK(std::ranges::equal(std::span(arena).first(kTableBytes), bytes_of(table)));
  s.backend->copier()->forget(arena);
}

CASE(variable_aliases_that_cannot_be) {
  VariableSession s;
  s.begin();
  const auto address = s.variable(kModule, "table").value<uint64_t>();
  CHECK(address < kFirstAlias);
  CHECK_EQUAL(s.alias(kTable + 2 * kAliasSpace, "no_such_variable").status, 500u);
  CHECK_EQUAL(s.alias(kTable + 2 * kAliasSpace, "table", 0x77).status, 400u);
  for (const uint64_t wrong : {address, uint64_t{0}, kTable + 8, 2 * kFirstAlias, kTable, kCounter})
    CHECK_EQUAL(s.alias(wrong, "table").status, 1u);
  CHECK_EQUAL(s.alias(kTable + 2 * kAliasSpace, "table").status, 0u);
  ops::ModuleUnload unload;
  unload.module = kModule;
  s.give(unload);
  CHECK_EQUAL(s.load(kModule, "all").status, 0u);
  CHECK_EQUAL(s.alias(kTable, "counter").status, 0u);
  CHECK_EQUAL(s.sink.wait_result(s.get(kCounter, 8)).status, 700u);
}

/// Where one lies now, the other was when the program set it.
CASE(variable_places_that_are_swapped) {
  const auto counter = content(kCounterBytes, 1), table = content(kTableBytes, 50);
  put_variables("fixed");
  uint64_t counter_was = 0, table_was = 0;
  {
    VariableSession s;
    s.begin();
    counter_was = s.variable(kModule, "counter").value<uint64_t>();
    table_was = s.variable(kModule, "table").value<uint64_t>();
  }
  put_variables("swapped");
  VariableSession s;
  CHECK_EQUAL(restored(s, with_variables({kCounterBehind, kTableBehind})), "");
  CHECK(s.backend->write(kCounter, bytes_of(counter)) && s.backend->write(kTable, bytes_of(table)));
  s.launch(kBump, {}, kStream);
  s.synchronize();
  auto bumped = counter;
  ++bumped[0];
  CHECK(s.bytes_at(kCounter, kCounterBytes) == bumped && s.bytes_at(kTable, kTableBytes) == table);
  CHECK_EQUAL(s.variable(kModule, "counter").value<uint64_t>(), table_was);
  CHECK_EQUAL(s.variable(kModule, "table").value<uint64_t>(), counter_was);
  CHECK(s.bytes_at(table_was, kCounterBytes) == bumped);
}

CASE(variable_whose_address_is_known_must_not_move) {
  put_variables("fixed");
  uint64_t told = 0;
  {
    VariableSession s;
    s.begin();
    told = s.variable(kModule, "counter").value<uint64_t>();
  }
  put_variables("swapped");
  VariableSession s;
  const Resources::Variable known{kModule, "counter", told, kCounterBytes};
  CHECK(restored(s, with_variables({kTableBehind, kCounterBehind, known}))
            .starts_with("the device variable counter is at 0x"));
  CHECK_EQUAL(restored(s, with_variables({kTableBehind, kCounterBehind})), "");
}

CASE(variable_aliases_go_back_in_time) {
  VariableSession s;
  s.begin();
  s.put(kTable, content(kTableBytes, 9), kStream);
  s.synchronize();
  CHECK_EQUAL(restored(s, with_variables({kCounterBehind})), "");
  CHECK_EQUAL(s.alias(kTable + kAliasSpace, "counter").status, 0u);
  CHECK_EQUAL(s.alias(kTable, "table").value<uint64_t>(), kTableBytes);
  CHECK(s.bytes_at(kTable, kTableBytes) == content(kTableBytes, 9));
  CHECK_EQUAL(restored(s, with_variables({})), "");
  CHECK(!s.backend->write(kCounter, bytes_of(content(kCounterBytes, 1))));
}

/// The op of a graph goes to where the variable lies when the graph is made again.
CASE(variable_in_a_graph_that_is_made_again) {
  put_variables("fixed");
  Resources resources = with_variables({kCounterBehind, kTableBehind});
  constexpr uint64_t kGraph = 0x5001, kExecutable = 0x6001;
  {
    VariableSession s;
    s.begin();
    CHECK_EQUAL(s.allocate(4096), kBase);
    const uint64_t first = s.sequence() + 1;
    s.begin_capture();
    s.copy(kTable, kBase, kTableBytes, kStream);
    s.copy(kBase + 1024, kCounter, kCounterBytes, kStream);
    CHECK_EQUAL(s.end_capture(kGraph).status, 0u);
    resources.executables = {{kExecutable, 0, s.content(first)}};
  }
  put_variables("swapped");
  VariableSession s;
  CHECK_EQUAL(restored(s, resources), "");
  const auto table = content(kTableBytes, 20), counter = content(kCounterBytes, 90);
  s.put(kBase, table, kStream);
  s.put(kCounter, counter, kStream);
  s.launch_graph(kExecutable);
  s.synchronize();
  CHECK(s.bytes_at(kTable, kTableBytes) == table && s.bytes_at(kBase + 1024, kCounterBytes) == counter);
}

/// Not into what lies before it, an alias or memory.
CASE(variables_an_alias_without_one_leads_nowhere) {
  cuda::DriverRanges ranges;
  ranges.add(0x7000, 64, 0x7000);
  CHECK_EQUAL(ranges.real(kCounter), kCounter);
  ranges.add(kCounter, kCounterBytes, 0x9000);
  CHECK_EQUAL(ranges.real(kCounter + 4), 0x9004u);
  CHECK_EQUAL(ranges.real(kCounter + kCounterBytes + 1), kCounter + kCounterBytes + 1);
  CHECK_EQUAL(ranges.real(kTable), kTable);
  CHECK_EQUAL(ranges.real(0x7010), 0x7010u);
}

}  // namespace jitc::test
