// Modules, kernels, launches and device variables of the cuda device.
#include "kernels.h"

namespace jitc::test {
namespace {
constexpr uint64_t kModule = KernelSession::kModule, kAdd = KernelSession::kAdd,
                   kStream = KernelSession::kStream;
constexpr uint64_t kOther = 0x4002;
constexpr int32_t kMaxDynamicShared = 8;

Reply set(KernelSession& s, uint64_t function, int32_t attribute, int32_t value) {
  ops::FunctionSet op;
  op.function = function;
  op.attribute = attribute;
  op.value = value;
  return s.ask(op);
}

Reply query(KernelSession& s, ops::OccupancyKind kind, uint32_t block, uint64_t shared, uint32_t cluster) {
  ops::FunctionQuery op;
  op.function = kAdd;
  op.kind = static_cast<uint32_t>(kind);
  op.block = block;
  op.shared = shared;
  op.cluster = cluster;
  return s.ask(op);
}

Sink::Fault fault_of_launch(const KernelSession::Bytes& parameters, const Launch& shape) {
  KernelSession s;
  s.begin();
  s.launch(kAdd, parameters, kStream, shape);
  return s.sink.wait_fault();
}

Resources resources_of(uint64_t memory) {
  Resources resources;
  resources.allocations = {{memory, 4096, 0}};
  resources.streams = {{kStream, 1, 0}, {KernelSession::kSide, 1, 0}};
  resources.modules = {{kModule, named("all"), images().size(named("all"))}};
  resources.functions = {{kAdd, kModule, "add_i64", {}}};
  return resources;
}

ops::LaunchAttribute attribute(uint32_t id, uint8_t first) {
  ops::LaunchAttribute one;
  one.id = id;
  one.value[0] = first;
  one.value[63] = 0x5a;
  return one;
}

ops::LaunchAttribute cluster(uint8_t x, uint8_t y, uint8_t z) {
  ops::LaunchAttribute one = attribute(4, x);
  one.value[4] = y;
  one.value[8] = z;
  return one;
}
}  // namespace

CASE(kernel_launches_run_in_stream_order) {
  KernelSession s;
  s.begin();
  const uint64_t a = s.allocate(4096);
  s.fill(a, 4096, 0, kStream);
  for (int i = 0; i < 100; ++i) s.add(a, i, 512, kStream);
  s.synchronize();
  CHECK_EQUAL(s.download<int64_t>(a, 512)[511], 4950);
}

CASE(kernel_parameters_arrive_as_they_are_laid_out) {
  KernelSession s;
  s.begin();
  const Reply info = s.function(kModule, kOther, "struct_args");
  CHECK_EQUAL(info.payload.size(), sizeof(ops::FunctionInfo) + 2 * sizeof(ops::FunctionParameter));
  CHECK_EQUAL(info.value<ops::FunctionInfo>().parameters, 2u);
  CHECK_EQUAL(info.value<ops::FunctionInfo>().max_threads, 1024);
  CHECK_EQUAL(info.value<ops::FunctionInfo>().registers, 32);
  const auto layout = [&](size_t index) {
    return info.value<ops::FunctionParameter>(sizeof(ops::FunctionInfo) + index * 8);
  };
  CHECK(layout(0).offset == 0 && layout(0).bytes == 13 && layout(1).offset == 16 && layout(1).bytes == 8);
  const uint64_t out = s.allocate(4096);
  const auto buffer =
      packed_values(uint8_t{7}, uint32_t{70'000}, uint64_t{1} << 40, uint16_t{0xffff}, uint8_t{0xff}, out);
  CHECK_EQUAL(buffer.size(), 24u);
  s.launch(kOther, buffer, kStream);
  s.synchronize();
  CHECK(s.download<uint64_t>(out, 3) == (std::vector<uint64_t>{7, 70'000, uint64_t{1} << 40}));
}

CASE(kernel_shape_and_attributes_reach_the_driver) {
  KernelSession s;
  s.begin();
  s.function(kModule, kOther, "shape_of");
  const uint64_t out = s.allocate(4096);
  Launch shape{{5, 4, 3}, {32, 2, 1}, 1024, {attribute(2, 1), cluster(1, 2, 3), attribute(8, 3)}};
  s.launch(kOther, packed_values(out), kStream, shape);
  s.synchronize();
  CHECK(s.download<uint64_t>(out, 7) == (std::vector<uint64_t>{5, 4, 3, 32, 2, 1, 1024}));
}

CASE(kernel_launches_that_cannot_be_are_faults) {
  const auto good = packed_values(kBase, int64_t{1}, uint64_t{1});
  const auto fault = fault_of_launch(good, {{1, 1, 1}, {2048, 1, 1}, 0, {}});
  CHECK(fault.status == 1 && fault.cause == "op-error");
  CHECK(fault.message.find("op kernel_launch") == 0);
  CHECK(contains(fault.message, "launch of kernel add_i64: CUDA_ERROR_INVALID_VALUE"));
  CHECK_EQUAL(fault_of_launch(good, {{5000, 1, 1}, {256, 1, 1}, 0, {attribute(2, 1)}}).status, 720u);
  CHECK_EQUAL(fault_of_launch(good, {{3, 1, 1}, {1, 1, 1}, 0, {cluster(2, 1, 1)}}).status, 912u);
  const auto shorter = fault_of_launch({good.begin(), good.end() - 8}, {});
  CHECK_EQUAL(shorter.status, 1u);
  CHECK(shorter.message.find("kernel add_i64 has 24 bytes of parameters, the launch brings 16") !=
        std::string::npos);
  for (const uint32_t id : {1u, 3u, 7u, 12u, 13u, 99u}) {
    const auto unknown = fault_of_launch(good, {{1, 1, 1}, {1, 1, 1}, 0, {attribute(id, 0)}});
    CHECK_EQUAL(unknown.status, 801u);
    CHECK(unknown.message.find("launch attribute " + std::to_string(id) + " ") != std::string::npos);
  }
}

CASE(kernel_records_that_lie_are_refused) {
  for (const bool attributes : {true, false}) {
    KernelSession s;
    s.begin();
    ops::KernelLaunch op;
    op.function = kAdd;
    if (attributes)
      op.attributes = UINT32_MAX;
    else
      op.parameters = UINT64_MAX;
    s.give(op, kStream);
    CHECK(s.sink.wait_fault().message.find("the launch is cut off") != std::string::npos);
  }
}

CASE(kernel_that_fails_is_a_sticky_error) {
  KernelSession s;
  s.begin();
  s.function(kModule, kOther, "illegal");
  s.launch(kOther, {}, kStream);
  s.backend->flush();
  const auto fault = s.sink.wait_fault();
  CHECK(fault.status == 700 && fault.cause == "sticky-error");
}

CASE(kernel_names_and_handles_that_do_not_exist) {
  KernelSession s;
  s.begin();
  CHECK_EQUAL(s.function(kModule, kOther, "no_such_kernel").status, 500u);
  CHECK(s.function(kModule, kOther, "no_such_kernel").text().find("no_such_kernel") != std::string::npos);
  CHECK_EQUAL(s.function(0x77, kOther, "add_i64").status, 400u);
  CHECK_EQUAL(s.function(kModule, kAdd, "add_i64").status, 400u);
  CHECK_EQUAL(s.variable(kModule, "no_such_variable").status, 500u);
  CHECK_EQUAL(s.variable(0x77, "table").status, 400u);
  CHECK_EQUAL(s.load(kModule, "all").status, 400u);
  CHECK_EQUAL(set(s, 0x77, kMaxDynamicShared, 1).status, 400u);
  CHECK_EQUAL(set(s, kAdd, kMaxDynamicShared, -1).status, 1u);
  CHECK_EQUAL(set(s, kAdd, 0, 1).status, 1u);
  CHECK_EQUAL(query(s, static_cast<ops::OccupancyKind>(9), 1, 0, 0).status, 1u);
  s.launch(0x77, {}, kStream);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(kernel_images_that_are_none) {
  KernelSession s;
  images().add("text", "what is this");
  CHECK_EQUAL(s.load(1, "text").status, 200u);
  const auto cut = packed_values(uint32_t{0xBA55ED50}, uint16_t{1}, uint16_t{16}, uint64_t{1'000'000});
  images().add("cut", std::string(reinterpret_cast<const char*>(cut.data()), cut.size()));
  CHECK(s.load(1, "cut").text().find("cut off") != std::string::npos);
  images().add("elf", std::string("\x7f"
                                  "ELF\2\1\1") +
                          std::string(40, '\xff'));
  CHECK(s.load(1, "elf").text().find("cut off") != std::string::npos);
  images().add("tiny", "\x7f");
  CHECK_EQUAL(s.load(1, "tiny").status, 200u);
  ops::ModuleLoad absent;
  absent.module = 1;
  absent.bytes = 5;
  CHECK_EQUAL(s.ask(absent).status, 200u);
  images().add("fat", [] {
    const std::string body = "JITCFAKE 1\nkernel add_i64\n";
    const auto head = packed_values(uint32_t{0xBA55ED50}, uint16_t{1}, uint16_t{16}, uint64_t{body.size()});
    return std::string(reinterpret_cast<const char*>(head.data()), head.size()) + body;
  }());
  CHECK_EQUAL(s.load(1, "fat").status, 0u);
  CHECK_EQUAL(s.function(1, kAdd, "add_i64").status, 0u);
}

/// Text need not end with a zero; what lies behind it in memory is no part of it.
CASE(kernel_images_of_text_end_where_they_end) {
  KernelSession s;
  const std::string whole = "JITCFAKE 1\nkernel add_i64\nkernel nonsense that is not part of it\n";
  images().add("longer", whole, 26);
  CHECK_EQUAL(s.load(1, "longer").status, 0u);
}

CASE(kernel_modules_are_unloaded_and_loaded_again) {
  KernelSession s;
  s.begin();
  const uint64_t a = s.allocate(4096);
  s.fill(a, 8, 0);
  s.add(a, 1, 1);
  ops::ModuleUnload unload;
  unload.module = kModule;
  s.give(unload);  // while the kernel may still run
  CHECK_EQUAL(s.function(kModule, kOther, "add_i64").status, 400u);
  CHECK_EQUAL(s.load(kModule, "all").status, 0u);
  CHECK_EQUAL(s.function(kModule, kAdd, "second").status, 0u);  // the handle is free again
  s.add(a, 2, 1);
  s.synchronize();
  CHECK_EQUAL(s.number(a), 3);
  s.backend->commit();
  s.give(unload);
  s.give(unload);
  CHECK_EQUAL(s.sink.wait_fault().status, 400u);
}

CASE(kernel_attributes_are_set_and_undone) {
  KernelSession s;
  s.begin();
  const uint64_t a = s.allocate(4096);
  s.fill(a, 8, 0);
  s.synchronize();  // it is on another stream than the kernel
  const Resources before = resources_of(a);
  CHECK_EQUAL(set(s, kAdd, kMaxDynamicShared, 100'000).status, 0u);
  s.launch(kAdd, packed_values(a, int64_t{1}, uint64_t{1}), kStream, {{1, 1, 1}, {1, 1, 1}, 100'000, {}});
  s.synchronize();
  Resources after = before;
  after.functions[0].attributes[kMaxDynamicShared] = 100'000;
  const auto most = [&] { return s.function(kModule, kOther, "add_i64").value<ops::FunctionInfo>(); };
  s.restore(after);
  CHECK_EQUAL(most().max_dynamic_shared, 100'000);
  s.restore(before);
  CHECK_EQUAL(most().max_dynamic_shared, 49152);
}

CASE(kernel_occupancy_is_asked_of_the_driver) {
  KernelSession s;
  s.begin();
  using Kind = ops::OccupancyKind;
  CHECK_EQUAL(query(s, Kind::active_blocks, 256, 0, 0).value<uint64_t>(), 8u);
  CHECK_EQUAL(query(s, Kind::active_blocks, 256, 48 << 10, 0).value<uint64_t>(), 4u);
  CHECK_EQUAL(query(s, Kind::available_shared, 256, 0, 8).value<uint64_t>(), 29184u);
  CHECK_EQUAL(query(s, Kind::potential_cluster, 256, 0, 0).value<uint64_t>(), 8u);
  CHECK_EQUAL(query(s, Kind::active_clusters, 256, 0, 4).value<uint64_t>(), 16u);
  CHECK_EQUAL(query(s, Kind::active_clusters, 256, 0, 16).status, 912u);
}

CASE(kernel_variables_are_memory) {
  KernelSession s;
  s.begin();
  s.function(kModule, kOther, "bump_global");
  const Reply found = s.variable(kModule, "counter");
  CHECK_EQUAL(found.value<uint64_t>(8), 8u);
  const auto address = found.value<uint64_t>();
  CHECK_EQUAL(s.variable(kModule, "counter").value<uint64_t>(), address);
  s.put(address, {41, 0, 0, 0, 0, 0, 0, 0}, kStream);
  s.launch(kOther, {}, kStream);
  CHECK_EQUAL(s.sink.wait_result(s.get(address, 8, kStream)).value<uint64_t>(), 42u);
  CHECK_EQUAL(s.number(address), 42);
  s.synchronize();
  ops::ModuleUnload unload;
  unload.module = kModule;
  s.give(unload);
  CHECK_EQUAL(s.sink.wait_result(s.get(address, 8)).status, 700u);
}

CASE(kernel_restore_takes_an_unloaded_module_back_as_it_was) {
  KernelSession s;
  s.begin();
  s.function(kModule, kOther, "bump_global");
  const auto address = s.variable(kModule, "counter").value<uint64_t>();
  s.launch(kOther, {}, kStream);
  s.synchronize();
  Resources resources = resources_of(s.allocate(4096));
  resources.functions.push_back({kOther, kModule, "bump_global", {}});
  resources.variables = {{kModule, "counter", address, 8}};
  ops::ModuleUnload unload;
  unload.module = kModule;
  s.give(unload);
  CHECK_EQUAL(s.load(kModule, "all").status, 0u);  // another one under the same handle
  s.restore(resources);
  s.launch(kOther, {}, kStream);
  s.synchronize();
  CHECK_EQUAL(s.number(address), 2);
  s.restore({});  // nothing is left
  CHECK_EQUAL(s.function(kModule, kAdd, "add_i64").status, 400u);
}

CASE(kernel_restore_in_a_fresh_device_loads_again) {
  all_kernels();
  KernelSession s;
  Resources resources = resources_of(kBase);
  resources.functions[0].attributes[kMaxDynamicShared] = 70'000;
  s.restore(resources);
  s.go_back_to(100);
  s.fill(kBase, 8, 0, kStream);
  s.launch(kAdd, packed_values(kBase, int64_t{5}, uint64_t{1}), kStream, {{1, 1, 1}, {1, 1, 1}, 70'000, {}});
  s.synchronize();
  CHECK_EQUAL(s.number(kBase), 5);
}

CASE(kernel_restore_that_cannot_be_done_says_why) {
  all_kernels();
  KernelSession s;
  Resources resources = resources_of(kBase);
  resources.variables = {{kModule, "counter", 0x1234, 8}};
  std::string error = s.refused_restore(resources);
  CHECK(error.find("the device variable counter is at 0x") == 0);
  CHECK(contains(error, "the program knows it at 0x1234 (8 bytes)"));
  resources.variables.clear();
  resources.functions.push_back({kOther, kModule, "no_such_kernel", {}});
  CHECK(s.refused_restore(resources).find("no_such_kernel") != std::string::npos);
  s.restore({});
  resources.functions.clear();
  images().lose(named("all"));
  CHECK(s.refused_restore(resources).find("not there") != std::string::npos);
}

CASE(kernel_sessions_share_an_image) {
  KernelSession a, b({.slot = 1});
  a.begin();
  b.begin();
  const uint64_t x = a.allocate(4096), y = b.allocate(4096);
  a.fill(x, 8, 0, kStream);
  b.fill(y, 8, 0, kStream);
  a.add(x, 1, 1, kStream);
  b.add(y, 2, 1, kStream);
  a.synchronize();
  ops::ModuleUnload unload;
  unload.module = kModule;
  a.give(unload);
  a.backend->commit();
  b.add(y, 2, 1, kStream);  // has a module of its own
  b.synchronize();
  CHECK(a.number(x) == 1 && b.number(y) == 4);
}

}  // namespace jitc::test
