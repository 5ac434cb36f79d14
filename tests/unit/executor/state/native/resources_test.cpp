// Cases of the resource table: what ops do to it, and its packed form. Called with a case's name and a
// folder.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>

#include "resource_bench.h"

namespace jitc {
namespace {

void load_plan(Bench& bench, uint64_t plan, uint8_t image, uint64_t bytes) {
  ops::DnnPlanLoad op;
  op.plan = plan;
  op.hash = hash_named(image);
  op.bytes = bytes;
  bench.give(op);
}

void set_attribute(Bench& bench, uint64_t function, int32_t attribute, int32_t value, uint32_t status = 0) {
  bench.give(with<ops::FunctionSet>(function, attribute, value), 0, {}, status);
}

void set_mode(Bench& bench, uint64_t handle, ops::BlasField field, int32_t mode) {
  bench.give(with<ops::BlasSet>(handle, static_cast<uint32_t>(field), mode));
}

void graph(Bench& bench, uint64_t stream, uint64_t handle, uint32_t status = 0) {
  bench.give(ops::CaptureBegin{}, stream);
  bench.launch(stream, 7);
  bench.launch(stream + 1, 8);
  bench.give(with<ops::CaptureEnd>(handle), stream, {}, status);
}

std::vector<std::byte> packed(const Resources& resources) {
  Packer packer;
  pack(packer, resources);
  return packer.bytes();
}

/// One of everything.
void fill(Bench& bench) {
  bench.give(with<ops::Allocate>(uint64_t{0x1000}, uint64_t{4096}));
  bench.give(with<ops::StreamCreate>(uint64_t{9}, 1u, -1));
  bench.give(with<ops::EventCreate>(uint64_t{10}, uint64_t{2}));
  bench.give(with<ops::HostRegister>(uint64_t{0x3000}, uint64_t{8192}));
  bench.give(with<ops::HostRegister>(uint64_t{0x9000}, uint64_t{4096}));
  bench.give(with<ops::HostUnregister>(uint64_t{0x9000}));
  bench.give(with<ops::HostRegister>(uint64_t{0x9000}, uint64_t{4096}), 0, {}, 1);  // failed
  bench.give(with<ops::MemoryHold>(uint64_t{70}, uint64_t{8192}));
  load_plan(bench, 90, 3, 64);
  load(bench, 20, 1);
  load(bench, 21, 2);
  bench.function(20, 30, "kernel");
  bench.function(21, 31, "other");
  set_attribute(bench, 30, 8, 98304);
  set_attribute(bench, 30, 9, -1);
  bench.variable(21, "table", 0x7000, 64);
  bench.give(with<ops::LimitSet>(0, 0u, uint64_t{2048}));
  bench.give(with<ops::LimitSet>(0, 0u, uint64_t{4096}));
  bench.give(with<ops::LimitSet>(3, 0u, uint64_t{2}), 0, {}, 215);  // refused
  bench.alias(21, "table", kFirstAlias, 64);
  bench.give(with<ops::BlasCreate>(uint64_t{40}));
  set_mode(bench, 40, ops::BlasField::pointer_mode, 1);
  bench.give(with<ops::BlasSet>(uint64_t{40}, uint32_t{3}, 0, uint64_t{0x1000}, uint64_t{512}));
  graph(bench, 9, 50);
  bench.give(with<ops::GraphInstantiate>(uint64_t{50}, uint64_t{60}, uint64_t{8}));
  bench.give(with<ops::GraphInstantiate>(uint64_t{50}, uint64_t{61}, uint64_t{0}));
  bench.give(with<ops::GraphDestroy>(uint64_t{50}));
  graph(bench, 9, 51);
  bench.give(ops::CaptureBegin{}, 9);
  bench.launch(9, 7);
}

// -- cases -------------------------------------------------------------------------------------------

void held_memory(const std::string& folder) {
  Bench bench(folder);
  for (const uint64_t handle : {1, 2, 3}) bench.give(with<ops::MemoryHold>(handle, handle * 4096));
  bench.give(with<ops::MemoryHold>(uint64_t{4}, uint64_t{4096}), 0, {}, 2);  // out of memory
  const uint64_t born = bench.give(with<ops::MemoryMap>(uint64_t{2}, uint64_t{0x200000}));
  bench.give(with<ops::MemoryMap>(uint64_t{4}, uint64_t{0x400000}));
  bench.give(with<ops::MemoryDrop>(uint64_t{3}));
  const Resources list = bench.list();
  CHECK(list.held.size() == 1 && list.held[0].handle == 1 && list.held[0].bytes == 4096);
  CHECK(list.allocations.size() == 1 && list.allocations[0].address == 0x200000);
  CHECK(list.allocations[0].bytes == 8192 && list.allocations[0].sequence == born);
  bench.give(with<ops::Free>(uint64_t{0x200000}));
  CHECK(bench.list().allocations.empty() && bench.list().held.size() == 1);
}

void plans(const std::string& folder) {
  Bench bench(folder);
  load_plan(bench, 80, 1, 100);
  load_plan(bench, 81, 2, 200);
  bench.give(with<ops::DnnPlanDrop>(uint64_t{80}));
  const Resources list = bench.list();
  CHECK(list.dnn_plans.size() == 1 && list.dnn_plans[0].handle == 81 && list.dnn_plans[0].bytes == 200);
  CHECK(list.dnn_plans[0].hash == hash_named(2));
  std::set<ImageHash> needed;
  add_images(list, needed);
  CHECK(needed == std::set<ImageHash>{hash_named(2)});
}

void modules(const std::string& folder) {
  Bench bench(folder);
  load(bench, 20, 1);
  load(bench, 21, 2);
  bench.function(20, 30, "kernel");
  bench.function(20, 32, "missing", 500);
  bench.function(21, 31, "other");
  set_attribute(bench, 30, 8, 100);
  set_attribute(bench, 30, 9, 50, 1);  // refused
  set_attribute(bench, 99, 8, 1);
  bench.variable(20, "table", 0x7000, 64);
  load(bench, 22, 3, 209);
  Resources all = bench.list();
  CHECK(all.modules.size() == 2 && all.modules[0].hash == hash_named(1));
  CHECK(all.functions.size() == 2 && all.functions[0].name == "kernel");
  CHECK((all.functions[0].attributes == std::map<int32_t, int32_t>{{8, 100}}));
  CHECK(all.variables.size() == 1 && all.variables[0].address == 0x7000 && all.variables[0].bytes == 64);
  bench.alias(20, "table", kFirstAlias, 64);
  bench.alias(20, "counter", kFirstAlias + kAliasSpace, 8);
  all = bench.list();
  CHECK(all.variables.size() == 3 && all.variables[0].name == "counter" && all.variables[0].bytes == 8);
  CHECK(all.variables[1].address == 0x7000 && all.variables[2].address == kFirstAlias);
  bench.give(with<ops::ModuleUnload>(uint64_t{20}));
  all = bench.list();
  CHECK(all.modules.size() == 1 && all.functions.size() == 1 && all.variables.empty());
  std::set<ImageHash> needed;
  add_images(all, needed);
  CHECK(needed == std::set<ImageHash>{hash_named(2)});
}

void blas(const std::string& folder) {
  Bench bench(folder);
  bench.give(with<ops::BlasCreate>(uint64_t{40}));
  set_mode(bench, 40, ops::BlasField::math_mode, 3);
  set_mode(bench, 40, ops::BlasField::pointer_mode, 1);
  set_mode(bench, 40, ops::BlasField::atomics_mode, 1);
  set_mode(bench, 41, ops::BlasField::math_mode, 3);
  set_mode(bench, 40, static_cast<ops::BlasField>(77), 5);
  bench.give(with<ops::BlasSet>(uint64_t{40}, uint32_t{3}, 0, uint64_t{0x1000}, uint64_t{512}));
  const Resources all = bench.list();
  CHECK(all.blas.size() == 1);
  const auto& one = all.blas[0];
  CHECK(one.math_mode == 3 && one.pointer_mode == 1 && one.atomics_mode == 1);
  CHECK(one.workspace == 0x1000 && one.workspace_bytes == 512);
  bench.give(with<ops::BlasDestroy>(uint64_t{40}));
  CHECK(bench.list().blas.empty());
}

uint16_t kind(const std::vector<std::byte>& record) {
  return reinterpret_cast<const ops::OpHeader*>(record.data())->op;
}

uint64_t count(const Resources::Content& content, ops::OpId id) {
  uint64_t found = 0;
  for (const auto& op : content.ops) found += kind(op) == static_cast<uint16_t>(id);
  return found;
}

/// Content: what can be in a graph, of all streams, with the cuBLAS settings that hold at the beginning.
void graphs(const std::string& folder) {
  Bench bench(folder);
  bench.give(with<ops::BlasCreate>(uint64_t{40}));
  set_mode(bench, 40, ops::BlasField::pointer_mode, 1);
  bench.launch(9, 1);  // before: no part of it
  bench.give(ops::CaptureBegin{}, 9);
  bench.launch(9, 2);
  bench.launch(8, 3);
  bench.give(ops::StreamSynchronize{}, 8);
  bench.give(with<ops::Allocate>(uint64_t{0x1000}, uint64_t{4096}));
  set_mode(bench, 40, ops::BlasField::math_mode, 2);
  bench.give(with<ops::CaptureEnd>(uint64_t{50}), 9);
  bench.launch(9, 4);
  const Resources all = bench.list();
  CHECK(all.graphs.size() == 1 && all.captures.empty());
  const auto& content = *all.graphs[0].ops;
  CHECK(kind(content.ops.front()) == static_cast<uint16_t>(ops::OpId::capture_begin));
  CHECK(kind(content.ops.back()) == static_cast<uint16_t>(ops::OpId::capture_end));
  CHECK(count(content, ops::OpId::kernel_launch) == 2);
  CHECK(count(content, ops::OpId::blas_set) == 5);
  CHECK(content.ops.size() == 9);
  const auto& set = *reinterpret_cast<const ops::BlasSet*>(content.ops[2].data());
  CHECK(set.field == static_cast<uint32_t>(ops::BlasField::pointer_mode) && set.mode == 1);
  CHECK(content.kept != ImageHash{} || folder.empty());
}

void captures_that_fail_make_nothing(const std::string& folder) {
  Bench bench(folder);
  graph(bench, 9, 50, 901);
  CHECK(bench.list().graphs.empty());
  bench.give(with<ops::GraphInstantiate>(uint64_t{50}, uint64_t{60}, uint64_t{0}));
  CHECK(bench.list().executables.empty());
  bench.give(with<ops::CaptureEnd>(uint64_t{51}), 9);  // nothing has begun
  CHECK(bench.list().graphs.empty());
}

void captures_at_once(const std::string& folder) {
  Bench bench(folder);
  bench.give(ops::CaptureBegin{}, 9);
  bench.give(ops::CaptureBegin{}, 8);
  bench.launch(9, 1);
  bench.give(with<ops::CaptureEnd>(uint64_t{50}), 9);
  bench.launch(8, 2);
  CHECK(bench.list().captures.size() == 1);
  bench.give(with<ops::CaptureEnd>(uint64_t{51}), 8);
  const Resources all = bench.list();
  CHECK(all.graphs.size() == 2 && all.captures.empty());
  CHECK(all.graphs[0].ops->ops.size() == 3 && all.graphs[1].ops->ops.size() == 4);
}

ops::CollectiveItem item(uint64_t communicator, ops::CollectiveKind kind, int32_t peer = -1) {
  ops::CollectiveItem one;
  one.comm = communicator;
  one.kind = static_cast<uint32_t>(kind);
  one.peer = peer;
  return one;
}

void collective(Bench& bench, uint64_t stream, const std::vector<ops::CollectiveItem>& items) {
  ops::Collective op;
  op.count = items.size();
  bench.give(op, stream, {reinterpret_cast<const char*>(items.data()), items.size() * sizeof(items[0])});
}

void join(Bench& bench, uint64_t handle, int32_t rank, uint8_t id) {
  ops::CommunicatorCreate op;
  op.handle = handle;
  op.ranks = 4;
  op.rank = rank;
  op.unique_id[0] = id;
  bench.give(op);
}

void split(Bench& bench, uint64_t parent, uint64_t handle, int32_t color) {
  ops::CommunicatorSplit op;
  op.parent = parent;
  op.handle = handle;
  op.color = color;
  bench.give(op);
}

/// Its part in the communicator of this handle, as other ranks see it.
Membership part(const Bench& bench, uint64_t handle) {
  const Resources all = bench.list();
  for (const auto& one : all.communicators)
    if (one.handle == handle) return *all.tally.find(one.name);
  throw Error("the communicator is not there");
}

void communicators_are_counted(const std::string& folder) {
  using Kind = ops::CollectiveKind;
  Bench one(folder), other(folder);
  join(one, 5, 0, 1);
  join(other, 7, 2, 1);
  CHECK(part(one, 5).communicator == part(other, 7).communicator);
  CHECK(part(one, 5).collectives == 1 && part(one, 5).rank == 0 && part(other, 7).rank == 2);
  collective(one, 9, {item(5, Kind::all_reduce), item(5, Kind::all_to_all)});
  collective(one, 9, {item(5, Kind::send, 2), item(5, Kind::send, 2), item(5, Kind::receive, 3)});
  CHECK(part(one, 5).collectives == 3);
  const Tally sent = one.list().tally;
  const uint64_t name = part(one, 5).communicator;
  CHECK(sent.exchanged(name, 2, false) == 2 && sent.exchanged(name, 3, true) == 1);
  CHECK(sent.exchanged(name, 2, true) == 0 && sent.exchanges.size() == 2);
  one.give(with<ops::CommunicatorDestroy>(uint64_t{5}));
  CHECK(one.list().communicators.empty() && one.list().tally.find(name)->left);
  one.table.communications().forget({name});
  CHECK(one.list().tally == Tally{});
}

void split_communicators_have_a_name_on_all_ranks(const std::string& folder) {
  Bench one(folder), other(folder);
  join(one, 5, 0, 1);
  join(other, 7, 2, 1);
  for (const int32_t color : {3, 4}) {
    split(one, 5, 20 + static_cast<uint64_t>(color), color);
    split(other, 7, 30 + static_cast<uint64_t>(color), color);
  }
  split(one, 5, 29, -1);
  const Tally mine = one.list().tally, others = other.list().tally;
  CHECK(mine.memberships.size() == 3 && others.memberships.size() == 3);
  CHECK(part(one, 5).collectives == 4 && part(other, 7).collectives == 3);  // splits of the parent count
  for (const Membership& membership : mine.memberships) CHECK(others.find(membership.communicator));
  const int32_t result[2] = {2, 1};
  one.table.communications().learn_rank(23, std::as_bytes(std::span(result)));
  CHECK(std::ranges::count(one.list().tally.memberships, 1, &Membership::rank) == 1);
}

/// Those of a capture run when its graph is launched, on whatever stream they were captured.
void collectives_of_graphs_are_counted_when_they_run(const std::string& folder) {
  using Kind = ops::CollectiveKind;
  Bench bench(folder);
  join(bench, 5, 0, 1);
  bench.give(ops::CaptureBegin{}, 9);
  bench.give(with<ops::EventRecord>(uint64_t{70}), 9);
  bench.give(with<ops::EventWait>(uint64_t{70}), 8);
  collective(bench, 8, {item(5, Kind::all_reduce)});  // this stream is captured too
  collective(bench, 6, {item(5, Kind::all_reduce)});  // this one is not
  CHECK(part(bench, 5).collectives == 2);
  bench.give(with<ops::CaptureEnd>(uint64_t{50}), 9);
  bench.give(with<ops::GraphInstantiate>(uint64_t{50}, uint64_t{60}, uint64_t{0}));
  CHECK(part(bench, 5).collectives == 2);
  bench.give(with<ops::GraphLaunch>(uint64_t{60}), 9);
  bench.give(with<ops::GraphLaunch>(uint64_t{60}), 9);
  CHECK(part(bench, 5).collectives == 4);
  // In another capture, which a boundary takes along before it ends.
  bench.give(ops::CaptureBegin{}, 9);
  bench.give(with<ops::GraphLaunch>(uint64_t{60}), 9);
  const Resources open = bench.list();
  Packer packer;
  pack(packer, open);
  Unpacker unpacker(packer.bytes());
  bench.table.reset(unpack_resources(unpacker, &bench.images));
  CHECK(bench.list().tally == open.tally);
  bench.give(with<ops::CaptureEnd>(uint64_t{51}), 9);
  bench.give(with<ops::GraphInstantiate>(uint64_t{51}, uint64_t{61}, uint64_t{0}));
  CHECK(part(bench, 5).collectives == 4);
  bench.give(with<ops::GraphLaunch>(uint64_t{61}), 6);
  CHECK(part(bench, 5).collectives == 5);
}

void collectives_in_graphs_are_known(const std::string& folder) {
  Bench bench(folder);
  graph(bench, 9, 50);
  bench.give(with<ops::GraphInstantiate>(uint64_t{50}, uint64_t{60}, uint64_t{0}));
  bench.give(ops::CaptureBegin{}, 9);
  collective(bench, 9, {item(5, ops::CollectiveKind::all_reduce)});
  bench.give(with<ops::CaptureEnd>(uint64_t{51}), 9);
  bench.give(with<ops::GraphInstantiate>(uint64_t{51}, uint64_t{61}, uint64_t{0}));
  CHECK(!bench.table.has_collectives(60) && bench.table.has_collectives(61));
  CHECK(!bench.table.has_collectives(99));
}

void packed_and_back(const std::string& folder) {
  Bench bench(folder);
  fill(bench);
  const auto bytes = packed(bench.list());
  Unpacker unpacker(bytes);
  const Resources again = unpack_resources(unpacker, &bench.images);
  CHECK(packed(again) == bytes);
  CHECK(again.modules.size() == 2 && again.functions.size() == 2 && again.variables.size() == 2);
  CHECK(again.functions[0].attributes.at(9) == -1 && again.variables[0].name == "table");
  CHECK(again.variables[1].address == kFirstAlias && again.variables[1].bytes == 64);
  CHECK(again.executables.size() == 2 && again.executables[0].ops == again.executables[1].ops);
  CHECK(again.executables[0].flags == 8 && again.graphs.size() == 1);
  CHECK(again.captures.size() == 1 && again.captures[0].stream == 9);
  CHECK(again.host_ranges.size() == 1 && again.host_ranges[0].address == 0x3000);
  CHECK(again.host_ranges[0].bytes == 8192);
  CHECK(again.held.size() == 1 && again.held[0].handle == 70 && again.held[0].bytes == 8192);
  CHECK(again.dnn_plans.size() == 1 && again.dnn_plans[0].handle == 90 && again.dnn_plans[0].bytes == 64);
  // Small when the content lies with the images, whole when it does not.
  CHECK(folder.empty() == (bytes.size() > 1500));
  const std::string place = folder.empty() ? "" : folder + "/other";
  if (!place.empty()) std::filesystem::create_directory(place);
  Bench other(place);
  other.table.reset(again);
  CHECK(packed(other.list()) == bytes);
  other.launch(9, 8);  // the capture goes on
  other.give(with<ops::CaptureEnd>(uint64_t{52}), 9);
  CHECK(other.list().graphs.size() == 2 && other.list().graphs[1].ops->ops.size() == 8);
}

/// Whatever a record holds: Error, or some resources; never a crash.
void damaged_records(const std::string& folder) {
  Bench bench(folder);
  fill(bench);
  const auto bytes = packed(bench.list());
  const auto attempt = [&](std::span<const std::byte> damaged) {
    try {
      Unpacker unpacker(damaged);
      unpack_resources(unpacker, &bench.images);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (size_t size = 0; size < bytes.size(); ++size) CHECK(!attempt({bytes.data(), size}));
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    auto damaged = bytes;
    for (int change = 0; change < 3; ++change)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random() % 256);
    attempt(damaged);
  }
}

void a_graph_that_is_lost_is_named(const std::string& folder) {
  Bench bench(folder);
  graph(bench, 9, 50);
  const auto bytes = packed(bench.list());
  bench.images.hold_only({});
  std::remove((folder + "/" + to_hex(bench.list().graphs[0].ops->kept)).c_str());
  try {
    Unpacker unpacker(bytes);
    unpack_resources(unpacker, &bench.images);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("a graph of this session is lost: image ") == 0);
    return;
  }
  CHECK(false);
}

Cases cases() {
  Cases all{
      {"held_memory", held_memory},
      {"plans", plans},
      {"modules", modules},
      {"blas", blas},
      {"graphs", graphs},
      {"graphs_inline", [](const std::string&) { graphs(""); }},
      {"captures_that_fail_make_nothing", captures_that_fail_make_nothing},
      {"captures_at_once", captures_at_once},
      {"communicators_are_counted", communicators_are_counted},
      {"split_communicators_have_a_name_on_all_ranks", split_communicators_have_a_name_on_all_ranks},
      {"collectives_of_graphs_are_counted_when_they_run", collectives_of_graphs_are_counted_when_they_run},
      {"collectives_in_graphs_are_known", collectives_in_graphs_are_known},
      {"packed_and_back", packed_and_back},
      {"packed_and_back_inline", [](const std::string&) { packed_and_back(""); }},
      {"damaged_records", damaged_records},
      {"damaged_records_inline", [](const std::string&) { damaged_records(""); }},
      {"a_graph_that_is_lost_is_named", a_graph_that_is_lost_is_named},
  };
  all.merge(limit_cases());
  return all;
}

}  // namespace
}  // namespace jitc

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const auto& one : jitc::cases()) std::puts(one.first.c_str());
    return 0;
  }
  if (argc != 3) return 2;
  try {
    jitc::cases().at(argv[1])(argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
