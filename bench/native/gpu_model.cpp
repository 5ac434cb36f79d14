// The calls of a training step of a GPT, made for a device with a pace (tests/fakes/cuda/pace.h): how long do
// steps take? Compiled and run by gpu_model.py: once on the stand-ins for NVIDIA's libraries alone, once with
// jitc between.
//
// Arguments: NAME=NUMBER for each member of Shape. With ranks, rank 0 writes the communicator's id to the
// file in JITC_MODEL_ID, and the others wait for it. Prints a line per step: its nanoseconds, those that the
// program spent inside of calls, those of the optimizer's hooks. Then "done", and ends with its input.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

extern "C" {
struct UniqueId {
  char bytes[128];
};
struct LiveBlock {
  uint64_t address, bytes, ordinal;
};
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuEventCreate(void** event, unsigned flags);
int cuEventRecord(void* event, void* stream);
int cuMemAlloc_v2(uint64_t* address, size_t bytes);
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                   void** extra);
int ncclGetUniqueId(UniqueId* id);
int ncclCommInitRank(void** comm, int ranks, UniqueId id, int rank);
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void* stream);
// Of jitc; without it there are none.
__attribute__((weak)) void jitc_set_phase(int phase);
__attribute__((weak)) void jitc_follow_memory(uint64_t address, size_t bytes, int followed);
__attribute__((weak)) void jitc_step_begin_live(const LiveBlock* blocks, size_t count);
__attribute__((weak)) void jitc_step_end(const LiveBlock* blocks, size_t count);
}

namespace {
using Clock = std::chrono::steady_clock;
constexpr int kFloat = 7, kSum = 0, kNonBlocking = 1, kNoTiming = 2;
enum Phase { kForward, kBackward, kOptimizer };

void require(int status, const char* what) {
  if (!status) return;
  std::fprintf(stderr, "gpu_model: %s failed with %d\n", what, status);
  std::exit(1);
}

int64_t nanoseconds(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }

/// What a step is made of. Times in nanoseconds.
struct Shape {
  uint64_t steps = 0, forward = 0, backward = 0;  // kernels of the two
  uint64_t kernel = 0, host = 0;                  // time of a kernel; of the program itself before each call
  uint64_t tensors = 0, bytes = 0;                // parameters; bytes of all of them, in memory
  uint64_t updates = 0;                           // kernels of the optimizer
  uint64_t look = 0;                              // every so many steps the loss is read
  uint64_t ranks = 0, rank = 0, buckets = 0, link = 0;  // time of a bucket's all-reduce

  std::map<std::string, uint64_t*> names() {
    return {{"steps", &steps}, {"forward", &forward}, {"backward", &backward}, {"kernel", &kernel},
            {"host", &host},   {"tensors", &tensors}, {"bytes", &bytes},       {"updates", &updates},
            {"look", &look},   {"ranks", &ranks},     {"rank", &rank},         {"buckets", &buckets},
            {"link", &link}};
  }
};

Shape read_shape(int count, char** words) {
  Shape shape;
  auto names = shape.names();
  for (int each = 1; each < count; ++each) {
    const std::string word = words[each];
    const size_t equals = word.find('=');
    const auto found = names.find(word.substr(0, equals));
    require(found == names.end() || equals == std::string::npos, word.c_str());
    *found->second = std::strtoull(word.c_str() + equals + 1, nullptr, 10);
    names.erase(found);
  }
  require(!names.empty(), names.empty() ? "" : names.begin()->first.c_str());
  return shape;
}

/// Adds up what the program waits inside of calls.
class Calls {
 public:
  template <class Body>
  void operator()(const char* what, Body&& body) {
    const auto from = Clock::now();
    require(body(), what);
    inside_ += Clock::now() - from;
  }
  int64_t taken() { return nanoseconds(std::exchange(inside_, {})); }

 private:
  Clock::duration inside_{};
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape) {
    void* context = nullptr;
    require(cuInit(0), "cuInit");
    require(cuDevicePrimaryCtxRetain(&context, static_cast<int>(shape.rank)), "cuDevicePrimaryCtxRetain");
    require(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    for (void** stream : {&main_, &side_}) require(cuStreamCreate(stream, kNonBlocking), "cuStreamCreate");
    for (void** event : {&forth_, &back_}) require(cuEventCreate(event, kNoTiming), "cuEventCreate");
    void* module = nullptr;
    require(cuModuleLoadData(&module, "JITCFAKE 1\nkernel busy\nkernel link_busy\nkernel add_i64\n"),
            "module");
    require(cuModuleGetFunction(&busy_, module, "busy"), "busy");
    require(cuModuleGetFunction(&link_busy_, module, "link_busy"), "link_busy");
    require(cuModuleGetFunction(&add_, module, "add_i64"), "add_i64");
    allocate();
    if (shape.ranks > 1) meet();
  }

  void step(uint64_t number) {
    const auto from = Clock::now();
    set_phase(kForward);
    for (uint64_t each = 0; each < shape_.forward; ++each) launch(busy_, main_, shape_.kernel);
    set_phase(kBackward);
    backward();
    set_phase(kOptimizer);
    const int64_t hooks = optimize();
    if ((number + 1) % shape_.look == 0) look();
    const int64_t taken = nanoseconds(Clock::now() - from);
    std::printf("%lld %lld %lld\n", static_cast<long long>(taken), static_cast<long long>(call_.taken()),
                static_cast<long long>(hooks));
  }

  void synchronize() {
    require(cuStreamSynchronize(main_), "cuStreamSynchronize");
    call_.taken();
  }

 private:
  /// Weights, gradients and Adam's two moments, each in one piece of memory; a block per tensor.
  void allocate() {
    const uint64_t each = shape_.bytes / shape_.tensors / 8 * 8;
    for (uint64_t& kind : kinds_) {
      require(cuMemAlloc_v2(&kind, each * shape_.tensors), "cuMemAlloc");
      if (jitc_follow_memory) jitc_follow_memory(kind, each * shape_.tensors, 1);
      for (uint64_t tensor = 0; tensor < shape_.tensors; ++tensor)
        live_.push_back({kind + tensor * each, each, live_.size() + 1});
    }
    kind_bytes_ = each * shape_.tensors;
  }

  void meet() {
    const char* const path = std::getenv("JITC_MODEL_ID");
    require(!path, "JITC_MODEL_ID");
    UniqueId id;
    if (shape_.rank == 0) {
      require(ncclGetUniqueId(&id), "ncclGetUniqueId");
      const std::string part = std::string(path) + ".part";
      std::ofstream(part, std::ios::binary).write(id.bytes, sizeof id.bytes);
      require(std::rename(part.c_str(), path), "writing the id");
    }
    while (::access(path, R_OK) != 0) ::usleep(1000);
    std::ifstream(path, std::ios::binary).read(id.bytes, sizeof id.bytes);
    require(ncclCommInitRank(&comm_, static_cast<int>(shape_.ranks), id, static_cast<int>(shape_.rank)),
            "ncclCommInitRank");
  }

  static void set_phase(Phase phase) {
    if (jitc_set_phase) jitc_set_phase(phase);
  }

  /// PyTorch's own time, which no proxy changes, then the call.
  template <class... Values>
  void launch(void* kernel, void* stream, Values... values) {
    const auto until = Clock::now() + std::chrono::nanoseconds(shape_.host);
    while (Clock::now() < until) continue;
    void* parameters[] = {&values...};
    call_("cuLaunchKernel",
          [&] { return cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr); });
  }

  void backward() {
    const uint64_t buckets = shape_.ranks > 1 ? shape_.buckets : 1;
    for (uint64_t bucket = 0; bucket < buckets; ++bucket) {
      for (uint64_t each = 0; each < shape_.backward / buckets; ++each) launch(busy_, main_, shape_.kernel);
      change(kinds_[1] + bucket * (kind_bytes_ / buckets / 8 * 8), kind_bytes_ / buckets / 8);
      if (comm_) all_reduce(bucket);
    }
    if (comm_) order(side_, back_, main_);
  }

  void change(uint64_t at, uint64_t count) { launch(add_, main_, at, int64_t{1}, count); }

  void order(void* from, void* event, void* to) {
    call_("cuEventRecord", [&] { return cuEventRecord(event, from); });
    call_("cuStreamWaitEvent", [&] { return cuStreamWaitEvent(to, event, 0); });
  }

  void all_reduce(uint64_t bucket) {
    const uint64_t bytes = kind_bytes_ / shape_.buckets / 8 * 8;
    auto* const at = reinterpret_cast<void*>(kinds_[1] + bucket * bytes);
    order(main_, forth_, side_);
    call_("ncclAllReduce", [&] { return ncclAllReduce(at, at, bytes / 4, kFloat, kSum, comm_, side_); });
    launch(link_busy_, side_, shape_.link);
  }

  /// Changes weights and moments. Gives the time of jitc's hooks.
  int64_t optimize() {
    const auto from = Clock::now();
    if (jitc_step_begin_live) jitc_step_begin_live(live_.data(), live_.size());
    auto hooks = Clock::now() - from;
    for (uint64_t update = 0; update < shape_.updates; ++update) {
      const uint64_t kind = update % 3 == 0 ? kinds_[0] : kinds_[1 + update % 3];
      const uint64_t parts = (shape_.updates + 2) / 3, count = kind_bytes_ / 8 / parts;
      change(kind + update / 3 * count * 8, count);
    }
    const auto after = Clock::now();
    if (jitc_step_end) jitc_step_end(live_.data(), live_.size());
    hooks += Clock::now() - after;
    return nanoseconds(hooks);
  }

  void look() {
    float loss = 0;
    call_("cuMemcpyDtoH", [&] { return cuMemcpyDtoH_v2(&loss, kinds_[0], sizeof loss); });
    call_("cuStreamSynchronize", [&] { return cuStreamSynchronize(main_); });
  }

  const Shape shape_;
  void *main_ = nullptr, *side_ = nullptr, *forth_ = nullptr, *back_ = nullptr;
  void *busy_ = nullptr, *link_busy_ = nullptr, *add_ = nullptr, *comm_ = nullptr;
  uint64_t kinds_[4] = {}, kind_bytes_ = 0;  // weights, gradients, moments
  std::vector<LiveBlock> live_;
  Calls call_;
};
}  // namespace

int main(int count, char** words) {
  const Shape shape = read_shape(count, words);
  Model model(shape);
  for (uint64_t number = 0; number < shape.steps; ++number) model.step(number);
  model.synchronize();
  std::printf("done\n");
  std::fflush(stdout);
  return std::getchar() == EOF ? 0 : 1;  // stays until it has been looked at
}
