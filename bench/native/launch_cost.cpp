// Launches kernels that do nothing, in bursts, and says what each takes the program. Compiled and run by
// launch_cost.py: once on the stand-in for NVIDIA's driver alone, once with jitc between.
//
// Arguments: launches, launches of a burst. Prints a line per burst: nanoseconds of its launches, and of the
// wait for them to be done. It begins after a line on its input, and ends with its input.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                   void** extra);
}

namespace {
using Clock = std::chrono::steady_clock;

void require(int status, const char* what) {
  if (!status) return;
  std::fprintf(stderr, "launch_cost: %s failed with %d\n", what, status);
  std::exit(1);
}

int64_t nanoseconds(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }
}  // namespace

int main(int count, char** words) {
  require(count != 3, "arguments");
  const uint64_t launches = std::strtoull(words[1], nullptr, 10),
                 burst = std::strtoull(words[2], nullptr, 10);
  void *context = nullptr, *stream = nullptr, *module = nullptr, *busy = nullptr;
  require(cuInit(0), "cuInit");
  require(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  require(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  require(cuStreamCreate(&stream, 1), "cuStreamCreate");
  require(cuModuleLoadData(&module, "JITCFAKE 1\nkernel busy\n"), "module");
  require(cuModuleGetFunction(&busy, module, "busy"), "busy");
  int64_t nothing = 0;
  void* parameters[] = {&nothing};
  const auto run = [&](uint64_t number) {
    for (uint64_t each = 0; each < number; ++each)
      require(cuLaunchKernel(busy, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "launch");
  };
  run(burst);
  require(cuStreamSynchronize(stream), "synchronize");
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 0;
  std::vector<std::pair<int64_t, int64_t>> bursts;
  for (uint64_t done = 0; done < launches; done += burst) {
    const auto from = Clock::now();
    run(burst);
    const auto issued = Clock::now();
    require(cuStreamSynchronize(stream), "synchronize");
    bursts.emplace_back(nanoseconds(issued - from), nanoseconds(Clock::now() - issued));
  }
  for (const auto& [issue, wait] : bursts)
    std::printf("%lld %lld\n", static_cast<long long>(issue), static_cast<long long>(wait));
  std::puts("done");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
