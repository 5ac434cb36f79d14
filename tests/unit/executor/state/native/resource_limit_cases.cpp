// Cases of the resource table: how much of everything there may be.
#include "resource_bench.h"

namespace jitc {
namespace {

void an_endless_capture_is_noticed(const std::string& folder) {
  Bench bench(folder);
  bench.give(ops::CaptureBegin{}, 9);
  const std::string large(4u << 20, 'x');
  ops::KernelLaunch op;
  for (int i = 0; i < 63; ++i) bench.give(op, 9, large);
  CHECK(!bench.table.overflown());
  bench.give(op, 9, large);
  CHECK(bench.table.overflown());
  bench.table.reset({});
  CHECK(!bench.table.overflown());
}

void so_many_bytes_of_graphs_and_no_more(const std::string& folder) {
  // Captures of several streams that are open at once: each gets an op of these bytes, none is too large by
  // itself.
  Bench bench(folder);
  constexpr uint64_t kStreams = 5, kBytes = 4u << 20, kMost = limits::kGraphBytes / kBytes / kStreams;
  for (uint64_t stream = 0; stream < kStreams; ++stream) bench.give(ops::CaptureBegin{}, 9 + stream);
  const std::string large(kBytes - 4096, 'x');
  for (uint64_t i = 0; i < kMost; ++i) bench.give(ops::KernelLaunch{}, 9, large);
  CHECK(!bench.table.overflown());
  for (int i = 0; i < 2; ++i) bench.give(ops::KernelLaunch{}, 9, large);
  CHECK(bench.table.overflown());
}

/// Makes as many as there may be; one is the op that makes them, with its handle first.
template <class Op>
void fill_up(size_t most, const char* what) {
  Bench bench("");
  Op op = with<Op>(uint64_t{0});
  op.header.op = static_cast<uint16_t>(Op::kId);
  for (uint64_t handle = 1; handle <= most; ++handle) {
    if (bench.table.excess(op.header)) throw Error("too few " + std::string(what));
    bench.give(with<Op>(handle));
  }
  const auto excess = bench.table.excess(op.header);
  CHECK(excess && excess->text().find(std::to_string(most) + " " + what) != std::string::npos);
}

template <class Op>
bool full(const Bench& bench) {
  Op op;
  op.header.op = static_cast<uint16_t>(Op::kId);
  return bench.table.excess(op.header).has_value();
}

/// Of something that is there: functions of a module, executables of a graph, which counts itself.
void fill_up_functions_and_graphs() {
  Bench bench("");
  load(bench, 1, 1);
  size_t functions = 0, graphs = 1;
  for (; !full<ops::FunctionGet>(bench); ++functions) bench.function(1, 2 + functions, "f");
  CHECK(functions == limits::kFunctions && full<ops::VariableGet>(bench));
  bench.give(ops::CaptureBegin{}, 9);
  bench.give(with<ops::CaptureEnd>(uint64_t{50}), 9);
  for (; !full<ops::GraphInstantiate>(bench); ++graphs)
    bench.give(with<ops::GraphInstantiate>(uint64_t{50}, uint64_t{50} + graphs, uint64_t{0}));
  CHECK(graphs == limits::kGraphs && full<ops::CaptureEnd>(bench));
}

void so_many_of_each_and_no_more(const std::string&) {
  fill_up<ops::StreamCreate>(limits::kStreams, "streams");
  fill_up<ops::EventCreate>(limits::kEvents, "events");
  fill_up<ops::CommunicatorCreate>(limits::kCommunicators, "communicators");
  fill_up<ops::ModuleLoad>(limits::kModules, "modules");
  fill_up<ops::BlasCreate>(limits::kBlasHandles, "cuBLAS handles");
  fill_up<ops::DnnPlanLoad>(limits::kDnnPlans, "cuDNN plans");
  fill_up_functions_and_graphs();
  CHECK(!full<ops::Free>(Bench("")));
}

}  // namespace

Cases limit_cases() {
  return {
      {"an_endless_capture_is_noticed", an_endless_capture_is_noticed},
      {"so_many_bytes_of_graphs_and_no_more", so_many_bytes_of_graphs_and_no_more},
      {"so_many_of_each_and_no_more", so_many_of_each_and_no_more},
  };
}

}  // namespace jitc
