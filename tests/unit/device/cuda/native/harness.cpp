// See harness.h.
#include "harness.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "device/devices.h"
#include "kernel/images.h"

namespace jitc::test {
namespace {

class NoSegments final : public CommunicatorSegments {
 public:
  CommunicatorSegment join(const std::array<uint8_t, 128>&, uint32_t, uint32_t) override {
    CommunicatorSegment none;
    none.status = 999;
    none.error = "no communicators here";
    return none;
  }
};

/// A function of the fake driver that a test calls by itself.
template <class Function>
Function* driver_function(const char* name) {
  void* const library = dlopen(JITC_TEST_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  if (!library) throw Failure{"the fake driver is not loaded yet"};
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string failures_path() { return "/proc/self/fd/" + std::string(std::getenv("JITC_TEST_FAILURES")); }

}  // namespace

Options rank_options(CommunicatorSegments& segments, int rank, double hang_seconds) {
  setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
  return {.hang_seconds = hang_seconds, .segments = &segments};
}

std::unique_ptr<Backend> make_device(const Options& options, ExecutionSink& sink, std::string& error) {
  static NoSegments no_segments;
  BackendOptions wanted{};
  wanted.address_base = kBase + options.slot * kRange;
  wanted.address_bytes = kRange;
  wanted.memory_limit = options.limit;
  wanted.threads = 1;
  wanted.libraries = Libraries({{"driver", options.driver},
                                {"cublas", options.cublas},
                                {"cublaslt", options.cublaslt},
                                {"cudnn", options.cudnn},
                                {"nccl", options.nccl},
                                {"nvrtc", options.nvrtc}});
  wanted.given.hang_seconds = options.hang_seconds;
  wanted.pinned = options.pinned;
  wanted.budget = options.budget;
  setenv("JITC_FAKE_CUDA", options.driver.c_str(), 1);  // where the fake NCCL finds the driver
  CommunicatorSegments& segments = options.segments ? *options.segments : no_segments;
  return make_cuda_backend(wanted, sink, segments, images(), error);
}

Session::Session(const Options& options) : OpClient(options.slot) {
  std::string error;
  backend = make_device(options, sink, error);
  if (!backend) throw Failure{error};
}

StreamGate::StreamGate() {
  auto* const launch = driver_function<int(void*, void (*)(void*), void*)>("cuLaunchHostFunc");
  const auto pass = [](void* gate) { static_cast<Gate*>(gate)->pass(); };
  CHECK_EQUAL(launch(nullptr, pass, &gate_), 0);
}

void StreamGate::open() { gate_.open(); }

void prepare_failures() {
  const int file = memfd_create("failures", 0);
  setenv("JITC_TEST_FAILURES", std::to_string(file).c_str(), 1);
  setenv("JITC_FAKE_FAIL_FILE", failures_path().c_str(), 1);
}

void ask_for_failures(const std::string& rules) { std::ofstream(failures_path()) << rules; }

int run_child(const std::function<void()>& body, std::string& written) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) throw Failure{"pipe"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], 2);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    alarm(kLimitSeconds);
    std::exit(run_case("child", body));
  }
  close(pipe_ends[1]);
  char buffer[4096];
  for (ssize_t got; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    written.append(buffer, static_cast<size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace jitc::test
