// The loop of hash_cost.py: hash_cost ROUNDS. A line per size and kind: "KIND BYTES MB/s MB/s ...".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/checksum.h"
#include "base/content_hash.h"

namespace {
using Clock = std::chrono::steady_clock;
using Data = std::span<const std::byte>;
using jitc::Hash;
constexpr size_t kBytesAtATime = 256u << 20;

struct Kind {
  const char* name;
  std::function<Hash(Data)> hash;
};

Hash portable(Data data) {
  jitc::ContentHasher hasher;
  hasher.add_portable(data);
  return hasher.finish();
}

double megabytes_per_second(const Kind& kind, Data data) {
  const size_t times = kBytesAtATime / data.size();
  unsigned kept = 0;  // so that no call is left out
  const auto started = Clock::now();
  for (size_t i = 0; i < times; ++i) kept += kind.hash(data)[0];
  const std::chrono::duration<double> took = Clock::now() - started;
  if (kept == 1) std::fputc(' ', stderr);
  return static_cast<double>(times * data.size()) / took.count() / 1e6;
}
}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 1;
  const Kind kinds[] = {{"content", jitc::content_hash}, {"portable", portable}, {"xxh3", jitc::hash_bytes}};
  for (const size_t bytes : {size_t{512}, size_t{64} << 10, size_t{16} << 20, size_t{256} << 20}) {
    const std::vector<std::byte> data(bytes, std::byte{3});
    std::vector<double> figures[3];
    for (int round = 0; round < rounds; ++round)
      for (size_t kind = 0; kind < 3; ++kind)
        figures[kind].push_back(megabytes_per_second(kinds[kind], data));
    for (size_t kind = 0; kind < 3; ++kind) {
      std::printf("%s %zu", kinds[kind].name, bytes);
      for (const double figure : figures[kind]) std::printf(" %.0f", figure);
      std::printf("\n");
    }
  }
}
