// Cost of one CUDA runtime call in the calling thread, and of a bare gRPC stream round trip.
//
// Compiled and run by call_cost.py with the interposer linked in and JITC_SOCKET set.
// Arguments: rounds, path of libjitc_transport.so, sockets of two echo servers, one in Python and one in C++.
// Prints one line per kind, with commas: name, then nanoseconds of each call. Kinds alternate, so that a slow
// moment hits all.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "jitc/transport.h"

extern "C" {
int cudaMalloc(void** address, size_t bytes);
int cudaMemsetAsync(void* address, int value, size_t bytes, void* stream);
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream);
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
int cudaStreamSynchronize(void* stream);
int cudaEventCreateWithFlags(void** event, unsigned flags);
int cudaEventRecord(void* event, void* stream);
int cudaEventQuery(void* event);
int cudaStreamQuery(void* stream);
int cudaStreamWaitEvent(void* stream, void* event, unsigned flags);
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
}

namespace {
using Clock = std::chrono::steady_clock;
constexpr int kBurst = 32;                       // asynchronous calls between two synchronizations
constexpr size_t kMessage = 40;                  // bytes of an echoed message: about one op
constexpr std::chrono::microseconds kOver{300};  // after which such an op is over
constexpr int kDeviceToHost = 2, kDeviceToDevice = 3;

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "call_cost: %s failed\n", what);
  std::exit(1);
}

template <class F>
long long nanoseconds(F&& call) {
  const auto start = Clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

struct Samples {
  const char* name;
  std::vector<long long> values;
  void print() const {
    std::printf("%s", name);
    for (const long long value : values) std::printf(",%lld", value);
    std::printf("\n");
  }
};

/// A stream to the echo server; one message out, the same back.
class Echo {
 public:
  Echo(const jitc_transport_api* api, const char* socket) : api_(api) {
    jitc_stream_callbacks callbacks{this, &Echo::message, &Echo::closed};
    jitc_bytes error{};
    stream_ = api->open(socket, "/bench.Echo/Stream", nullptr, 0, &callbacks, &error);
    require(stream_ != nullptr, "opening the echo stream");
  }
  ~Echo() { api_->close(stream_); }
  void round_trip() {
    uint8_t data[kMessage] = {};
    jitc_bytes part{data, sizeof data};
    wanted_ = ++sent_;
    require(api_->send(stream_, &part, 1) == 0, "send");
    require(api_->wait(stream_, &Echo::done, this, 5000) == 1, "echo");
  }

 private:
  static void message(void* self, const uint8_t*, size_t) { ++static_cast<Echo*>(self)->received_; }
  static void closed(void*, int, const char*) {}
  static int done(void* self) {
    return static_cast<Echo*>(self)->received_ >= static_cast<Echo*>(self)->wanted_;
  }
  const jitc_transport_api* api_;
  jitc_stream* stream_ = nullptr;
  long sent_ = 0, received_ = 0, wanted_ = 0;
};

const jitc_transport_api* transport(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, path);
  auto get = reinterpret_cast<const jitc_transport_api* (*)()>(dlsym(library, "jitc_transport_get"));
  require(get != nullptr, "jitc_transport_get");
  return get();
}
}  // namespace

int main(int argc, char** argv) {
  require(argc == 5, "arguments: rounds, transport library, echo sockets;");
  const int rounds = std::atoi(argv[1]);
  Echo python(transport(argv[2]), argv[3]), native(transport(argv[2]), argv[4]);
  void *memory = nullptr, *event = nullptr, *stream = nullptr;
  require(cudaMalloc(&memory, 1 << 20) == 0, "cudaMalloc");
  require(cudaEventCreateWithFlags(&event, 2) == 0, "cudaEventCreate");
  require(cudaStreamCreateWithFlags(&stream, 1) == 0, "cudaStreamCreate");
  Samples fill{"memset", {}}, copy{"copy", {}}, record{"record", {}}, order{"wait event", {}};
  Samples query{"query", {}}, idle{"query stream", {}}, asked{"query news", {}}, news{"wait for news", {}};
  Samples read{"read", {}}, wait{"synchronize", {}}, slow{"echo python", {}}, bare{"echo", {}};
  char *base = static_cast<char*>(memory), back[8] = {};
  int failed = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int call = 0; call < kBurst; ++call) {
      fill.values.push_back(nanoseconds([&] { failed |= cudaMemsetAsync(base, call, 64, nullptr); }));
      copy.values.push_back(
          nanoseconds([&] { failed |= cudaMemcpyAsync(base + 4096, base, 64, kDeviceToDevice, nullptr); }));
      record.values.push_back(nanoseconds([&] { failed |= cudaEventRecord(event, nullptr); }));
      order.values.push_back(nanoseconds([&] { failed |= cudaStreamWaitEvent(stream, event, 0); }));
    }
    failed |= cudaStreamSynchronize(nullptr);
    for (int call = 0; call < kBurst; ++call) {
      query.values.push_back(nanoseconds([&] { failed |= cudaEventQuery(event); }));
      idle.values.push_back(nanoseconds([&] { failed |= cudaStreamQuery(nullptr); }));
    }
    read.values.push_back(nanoseconds([&] { failed |= cudaMemcpy(back, base + 4096, 8, kDeviceToHost); }));
    require(back[7] == kBurst - 1, "reading back what was written");
    failed |= cudaMemsetAsync(base, round, 64, nullptr);  // else there is nothing to wait for
    wait.values.push_back(nanoseconds([&] { failed |= cudaStreamSynchronize(nullptr); }));
    // Of work that is over, which nobody has told the program yet.
    for (Samples* one : {&asked, &news}) {
      failed |= cudaMemsetAsync(base, round, 64, nullptr);
      failed |= cudaEventRecord(event, nullptr);
      cudaStreamQuery(nullptr);  // sends them
      std::this_thread::sleep_for(kOver);
      one->values.push_back(nanoseconds([&] {
        if (one == &news)
          failed |= cudaStreamSynchronize(nullptr);
        else
          cudaEventQuery(event);  // not known is an answer too
      }));
    }
    slow.values.push_back(nanoseconds([&] { python.round_trip(); }));
    bare.values.push_back(nanoseconds([&] { native.round_trip(); }));
  }
  require(failed == 0, "a CUDA call");
  for (const Samples* one :
       {&fill, &copy, &record, &order, &query, &idle, &asked, &news, &read, &wait, &slow, &bare})
    one->print();
  return 0;
}
