// Limits of the device for kernels: in force, shared by the sessions of a worker, there again after a
// restore.
#include "kernels.h"

namespace jitc::test {
namespace {
constexpr uint64_t kModule = KernelSession::kModule, kAdd = KernelSession::kAdd, kDeep = 0x4002,
                   kHeap = 0x4003;
constexpr uint64_t kStream = KernelSession::kStream, kSide = KernelSession::kSide;
constexpr int32_t kStackLimit = 0, kHeapLimit = 2;

/// With the kernels deep(bytes of stack) and heap(bytes of heap).
class LimitSession : public KernelSession {
 public:
  explicit LimitSession(const Options& options = {}) : KernelSession(options) {
    begin();
    CHECK_EQUAL(function(kModule, kDeep, "deep").status, 0u);
    CHECK_EQUAL(function(kModule, kHeap, "heap").status, 0u);
  }
  Reply set(int32_t limit, uint64_t value) {
    ops::LimitSet op;
    op.limit = limit;
    op.value = value;
    return ask(op);
  }
  uint64_t in_force(int32_t limit, uint64_t value) { return set(limit, value).value<uint64_t>(); }
  void run(uint64_t kernel, uint64_t bytes) {
    launch(kernel, packed_values(bytes), kStream);
    synchronize();
  }
  Resources resources(std::vector<Resources::Limit> limits) const {
    Resources resources;
    resources.streams = {{kStream, 1, 0}, {kSide, 1, 0}};
    resources.modules = {{kModule, named("all"), images().size(named("all"))}};
    resources.functions = {
        {kAdd, kModule, "add_i64", {}}, {kDeep, kModule, "deep", {}}, {kHeap, kModule, "heap", {}}};
    resources.limits = std::move(limits);
    return resources;
  }
};
}  // namespace

CASE(limits_are_in_force) {
  LimitSession s;
  CHECK_EQUAL(s.in_force(kStackLimit, 8001), 8016u);
  CHECK_EQUAL(s.in_force(kHeapLimit, 16 << 20), uint64_t{16} << 20);
  s.run(kDeep, 8000);
  s.run(kHeap, 16 << 20);
  CHECK(s.sink.faults().empty());
}

CASE(limits_that_the_driver_refuses_are_the_calls_error) {
  LimitSession s;
  CHECK_EQUAL(s.set(3, 2).status, 215u);  // the depth of synchronization: no driver has it any more
  s.run(kHeap, 4096);
  CHECK_EQUAL(s.set(kHeapLimit, 16 << 20).status, 1u);
  CHECK(s.sink.faults().empty());
}

CASE(limits_are_the_most_that_a_session_asks_for) {
  LimitSession small;
  CHECK_EQUAL(small.in_force(kStackLimit, 2048), 2048u);
  {
    LimitSession large(Options{.slot = 1});
    CHECK_EQUAL(large.in_force(kStackLimit, 4096), 4096u);
    CHECK_EQUAL(small.in_force(kStackLimit, 2048), 4096u);
  }
  CHECK_EQUAL(small.in_force(kStackLimit, 2048), 2048u);
}

CASE(limits_are_there_again_after_a_restore) {
  LimitSession s;
  s.set(kHeapLimit, 16 << 20);
  s.run(kHeap, 16 << 20);
  // The driver would not take the size of the heap again.
  s.restore(s.resources({{kStackLimit, 4096}, {kHeapLimit, 16 << 20}}));
  s.run(kDeep, 4096);
  s.run(kHeap, 16 << 20);
  CHECK(s.sink.faults().empty());
  s.restore(s.resources({{kHeapLimit, 16 << 20}}));
  CHECK_EQUAL(LimitSession(Options{.slot = 1}).in_force(kStackLimit, 2048), 2048u);
}

CASE(limits_of_a_worker_that_takes_over_are_set_before_its_modules) {
  LimitSession s;
  s.restore(s.resources({{kStackLimit, 4096}}));
  s.run(kDeep, 4096);
  CHECK(s.sink.faults().empty());
}

}  // namespace jitc::test
