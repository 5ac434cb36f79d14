// See hasher.h.
#include "hasher.h"

#include <algorithm>

#include "device/cuda/driver/error.h"
#include "device/standard_error.h"

namespace jitc::cuda {
namespace {

constexpr uint32_t kThreads = 256, kWarps = kThreads / 32;
constexpr uint32_t kBlocksPerMultiprocessor = 8;
using content::Sum;
static_assert(sizeof(HashRange) == 24 && sizeof(Sum) == 16);

}  // namespace

/// Tables of a launch: ranges, then their sums; on the device, and in pinned memory.
class Hasher::Tables {
 public:
  explicit Tables(std::shared_ptr<Context> context) : context_(std::move(context)), host_(context_, kBytes) {
    const Driver& driver = context_->driver();
    check(driver, "cuMemAlloc", driver.cuMemAlloc(&device_, kBytes));
    const auto made = driver.cuStreamCreateWithPriority(&stream_, abi::kStreamNonBlocking, 0);
    if (made != 0) driver.cuMemFree(device_);
    check(driver, "cuStreamCreateWithPriority", made);
  }
  ~Tables() {
    if (context_->bind() != 0) return;
    context_->driver().cuStreamSynchronize(stream_);  // a failed launch may have left a copy in flight
    context_->driver().cuStreamDestroy(stream_);
    context_->driver().cuMemFree(device_);
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  HashRange* ranges() { return reinterpret_cast<HashRange*>(host_.data()); }
  const Sum* sums() const { return reinterpret_cast<const Sum*>(host_.data() + kRangeBytes); }
  abi::CUdeviceptr device_ranges() const { return device_; }
  abi::CUdeviceptr device_sums() const { return device_ + kRangeBytes; }
  abi::CUstream stream() const { return stream_; }

  void send(size_t count) {
    const Driver& driver = context_->driver();
    check(driver, "cuMemcpyHtoDAsync",
          driver.cuMemcpyHtoDAsync(device_, host_.data(), count * sizeof(HashRange), stream_));
    check(driver, "cuMemsetD8Async", driver.cuMemsetD8Async(device_sums(), 0, count * sizeof(Sum), stream_));
  }
  void receive(size_t count) {
    const Driver& driver = context_->driver();
    check(driver, "cuMemcpyDtoHAsync",
          driver.cuMemcpyDtoHAsync(host_.data() + kRangeBytes, device_sums(), count * sizeof(Sum), stream_));
    finish();
  }
  void finish() {
    check(context_->driver(), "cuStreamSynchronize", context_->driver().cuStreamSynchronize(stream_));
  }

 private:
  static constexpr size_t kRangeBytes = kMostRanges * sizeof(HashRange);
  static constexpr size_t kBytes = kRangeBytes + kMostRanges * sizeof(Sum);

  const std::shared_ptr<Context> context_;
  HostMemory host_;
  abi::CUdeviceptr device_ = 0;
  abi::CUstream stream_ = nullptr;
};

Hasher::Hasher(std::shared_ptr<Context> context, const std::string& nvrtc_path)
    : context_(std::move(context)), build_(nvrtc_path, context_->capability()) {}

Hasher::~Hasher() = default;

bool Hasher::hash(std::span<const MemoryRange> ranges, std::span<Hash> out) {
  return in_turns(ranges, [&](std::span<const MemoryRange> some, size_t first) {
    run(some, out.subspan(first, some.size()));
  });
}

bool Hasher::poison(std::span<const MemoryRange> ranges) {
  return in_turns(ranges, [&](std::span<const MemoryRange> some, size_t) {
    const uint64_t pieces = fill_table(some);
    tables_->send(some.size());
    if (pieces) launch(poison_, static_cast<uint32_t>(some.size()), pieces);
    tables_->finish();
  });
}

/// Calls work with as many ranges as a launch takes, and the number of the first, until all are done.
bool Hasher::in_turns(std::span<const MemoryRange> ranges,
                      const std::function<void(std::span<const MemoryRange>, size_t)>& turn) {
  const std::lock_guard lock(mutex_);
  if (given_up_) return false;
  try {
    if (!module_) prepare();
    for (size_t first = 0; first < ranges.size(); first += kMostRanges)
      turn(ranges.subspan(first, std::min(kMostRanges, ranges.size() - first)), first);
  } catch (const OpError& error) {
    if (error.sticky) throw;
    give_up(error.message);
  }
  return !given_up_;
}

void Hasher::prepare() {
  const KernelBuild& build = build_.get();
  if (build.image.empty()) refuse(kNotSupported, "no-kernel", build.error);
  auto module = std::make_unique<Module>(context_, build.image);
  tables_ = std::make_unique<Tables>(context_);
  hash_ = module->function("jitc_hash");
  poison_ = module->function("jitc_poison");
  module_ = std::move(module);
}

/// Gives up for good: a failure would recur at every boundary.
void Hasher::give_up(const std::string& why) {
  given_up_ = true;
  hash_ = poison_ = nullptr;
  tables_.reset();
  module_.reset();
  say("GPU %d cannot hash its memory by itself, the host does (slower): %s", context_->ordinal(),
      why.c_str());
}

void Hasher::run(std::span<const MemoryRange> ranges, std::span<Hash> out) {
  const uint64_t pieces = fill_table(ranges);
  tables_->send(ranges.size());
  if (pieces) launch(hash_, static_cast<uint32_t>(ranges.size()), pieces);
  tables_->receive(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) out[i] = content_hash_of(tables_->sums()[i], ranges[i].bytes);
}

/// Fills the table and returns the number of pieces.
uint64_t Hasher::fill_table(std::span<const MemoryRange> ranges) {
  uint64_t pieces = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [address, bytes] = ranges[i];
    tables_->ranges()[i] = {address, bytes, pieces};
    pieces += bytes / kPiece + (bytes % kPiece != 0);
  }
  return pieces;
}

void Hasher::launch(abi::CUfunction kernel, uint32_t count, uint64_t pieces) {
  const auto most = static_cast<uint64_t>(std::max(1, context_->attribute(abi::kAttributeMultiprocessors)));
  const uint64_t wanted = (pieces + kWarps - 1) / kWarps;
  abi::CUlaunchConfig config{};
  config.gridDimX = static_cast<uint32_t>(std::min(wanted, most * kBlocksPerMultiprocessor));
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = kThreads;
  config.hStream = tables_->stream();
  abi::CUdeviceptr ranges = tables_->device_ranges(), sums = tables_->device_sums();
  void* parameters[] = {&ranges, &count, &pieces, &sums};  // the kernel takes a prefix of these
  const Driver& driver = context_->driver();
  check(driver, "cuLaunchKernelEx", driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr));
}

}  // namespace jitc::cuda
