// Life of the device: taking ops, failing, direct access. See device.h; rest.cpp has fence and restore.
#include "device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/content_hash.h"
#include "device/common/operands.h"
#include "device/spoil.h"
#include "table.h"

namespace jitc::cuda {
namespace {

/// For the driver to take back what a lost worker had; no longer than silence is borne.
std::chrono::duration<double> patience_of(const BackendOptions& options) {
  constexpr double kSeconds = 15;
  return std::chrono::duration<double>(options.hang_seconds > 0 ? std::min(kSeconds, options.hang_seconds)
                                                                : kSeconds);
}

/// Releases a mutex that this thread holds, for a wait.
class Unlocked {
 public:
  explicit Unlocked(std::mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::mutex& mutex_;
};

}  // namespace

Device::Device(const BackendOptions& options, ExecutionSink& sink, Rendezvous& rendezvous,
               ImageSource& images)
    : options_(options),
      sink_(sink),
      rendezvous_(rendezvous),
      images_(images),
      memory_(options.address_base, options.address_bytes, options.memory_limit, budget_of(options),
              patience_of(options)),
      blas_(options),
      lt_(options),
      dnn_(options, images) {}

Device::~Device() {
  if (communicators_) fence();
}

bool Device::open(std::string& error) {
  const auto driver = Driver::open(options_.libraries.path("driver"), error);
  if (!driver) return false;
  context_ = Context::of(driver, options_.ordinal, error);
  if (!context_) return false;
  if (!context_->attribute(abi::kAttributeVirtualMemory))
    return error = "the GPU or its driver has no virtual memory management", false;
  if (!context_->attribute(abi::kAttributeStreamMemoryOps64))
    return error = "the GPU or its driver cannot write 64-bit values in stream order", false;
  if (!memory_.reserve(context_, error)) return false;
  try {
    host_ranges_ = std::make_unique<HostRanges>(context_, options_.pinned, memory_);
    pinned_ = std::make_unique<PinnedPool>(context_);
    transfer_ = std::make_unique<Transfer>(context_);
    hasher_ = std::make_unique<Hasher>(context_, options_.libraries.path("nvrtc"));
    completer_ = std::make_unique<Completer>(context_, sink_, *this, options_.hang_seconds);
    legacy_ = std::make_unique<Stream>(context_, *completer_);
    modules_ = std::make_unique<Modules>(context_, images_, memory_);
    communicators_ = std::make_unique<Communicators>(options_.libraries.path("nccl"), sink_, rendezvous_,
                                                     *this, options_.hang_seconds);
  } catch (const OpError& failure) {
    return error = failure.message, false;
  }
  return true;
}

// -- taking ops ----------------------------------------------------------------------------------------

void Device::enqueue(const ops::OpHeader& op) {
  const std::lock_guard lock(mutex_);
  if (!running()) return;
  try {
    check_record(op, ops::find(op.op));
    const Table* const entry = Table::find(op.op);
    if (!entry) refuse(kNotSupported, "unknown-op", "the cuda device does not execute it");
    check("cuCtxSetCurrent", context_->bind());
    if (!open_captures_.empty()) resume_captures();
    if (!captures_.empty() && placed_in_capture(op)) return;
    (this->*entry->place)(op);
  } catch (const OpError& error) {
    fail(op, error);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    fail(op, {kMemoryAllocation, "host-error", std::string("the worker failed: ") + error.what()});
  }
}

/// A fence has the mutex until the GPU rests, which may be when the caller has gone on: it does not wait for
/// that.
void Device::flush() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock && running()) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    (void)lock.try_lock();
  }
  if (!running() || fresh_.empty()) return;
  try {
    check("cuCtxSetCurrent", context_->bind());
    mark_all();
  } catch (const OpError& error) {
    fault(suspect(), error);
  }
}

bool Device::idle() {
  flush();
  if (!completer_->wait_all()) return false;
  communicators_->wait_quiet();
  return running();
}

Stream& Device::stream_of(const ops::OpHeader& op) {
  if (op.stream <= kLastDefaultStream) return *legacy_;
  const auto found = streams_.find(op.stream);
  if (found == streams_.end()) refuse_handle("stream " + hex(op.stream) + " does not exist");
  return *found->second;
}

const Device::EventPointer& Device::event_pointer(uint64_t handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) refuse_handle("event " + hex(handle) + " does not exist");
  return found->second;
}

Event& Device::event_of(uint64_t handle) { return *event_pointer(handle); }

void Device::submitted(Stream& stream, const ops::OpHeader& op) {
  if (again_) return;
  if (stream.diverted()) return completer_->note(stream.track(), op.sequence);
  if (!stream.fresh) fresh_.push_back(&stream);
  stream.fresh = true;
  completer_->given(stream.track(), op);
}

void Device::submitted_with_result(Stream& stream, const ops::OpHeader& op, Pinned memory, size_t bytes) {
  submitted(stream, op);
  completer_->after(stream.track(), {op.sequence, bytes, std::move(memory), {}});
}

void Device::done_in_place(const ops::OpHeader& op) {
  if (again_) return;
  const auto found = streams_.find(op.stream);
  if (op.stream <= kLastDefaultStream)
    completer_->note(legacy_->track(), op.sequence);
  else if (found != streams_.end())
    completer_->note(found->second->track(), op.sequence);
}

void Device::answer(const ops::OpHeader& op, std::span<const std::byte> payload) {
  sink_.result(op.sequence, kSuccess, payload);
}

void Device::mark_all() {
  std::erase_if(fresh_, [this](Stream* stream) {
    completer_->mark(stream->track());
    stream->fresh = false;
    return true;
  });
}

void Device::come_to_rest() {
  mark_all();
  bool rests = false;
  {
    const Unlocked unlocked(mutex_);
    rests = completer_->wait_all();
  }
  if (!rests || !running()) throw Abandoned{};
}

Pinned Device::staging(size_t bytes) {
  for (;;) {
    if (Pinned memory = pinned_->take(bytes)) return memory;
    mark_all();
    {
      const Unlocked unlocked(mutex_);
      completer_->wait_some();
    }
    if (!running()) throw Abandoned{};
  }
}

void Device::require(const char* name, uint64_t address, uint64_t bytes) const {
  if (bytes == 0 || memory_.contains(address, bytes)) return;
  refuse_address(name, address, bytes);
}

// -- failing -------------------------------------------------------------------------------------------

void Device::fail(const ops::OpHeader& op, const OpError& error) {
  const ops::OpInfo* const info = ops::find(op.op);
  const std::string message = about(op, info, error.message);
  const bool forgiven = spoiled(op, error, message);
  if (info && info->waits && !error.sticky)
    return sink_.result(op.sequence, error.status, std::as_bytes(std::span(message)));
  if (forgiven) return;
  // A sticky error is mostly that of work that was given before.
  const uint64_t earlier = error.sticky ? suspect() : 0;
  fault(earlier ? std::min(earlier, op.sequence) : op.sequence,
        {error.status, error.cause, message, error.sticky});
}

void Device::fault(uint64_t sequence, const OpError& error) const {
  State expected = State::running;
  if (!state_.compare_exchange_strong(expected, State::faulted)) return;
  completer_->close();
  communicators_->interrupt();
  sink_.fault(sequence, error.status, error.cause, error.message);
}

/// The oldest op that may not have run: the GPU does not say which one failed. With mutex_ held.
uint64_t Device::suspect() const {
  uint64_t oldest = completer_->oldest();
  for (const Stream* const stream : fresh_)
    oldest = std::min(oldest, completer_->oldest_unmarked(*stream->track()));
  return oldest == UINT64_MAX ? 0 : oldest;
}

/// The dispatcher sees a dead device by itself when it is inside; a driver that blocks it would block us too.
void Device::look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !running() || context_->bind() != 0) return;
  thread_local bool relaxed = false;
  int32_t mode = abi::kCaptureModeRelaxed;  // this thread's questions disturb no capture
  if (!relaxed) relaxed = driver().cuThreadExchangeStreamCaptureMode(&mode) == 0;
  for (const Stream* stream : all_streams()) {
    if (completer_->dry(*stream->track())) continue;
    const auto status = driver().cuStreamQuery(stream->own());
    if (status == kSuccess || status == kNotReady) continue;
    return fault(suspect(), error_of(driver(), "work on the GPU", status));
  }
}

void Device::hung(uint64_t sequence, bool collective) {
  const char* const cause = collective ? "hung-collective" : "hung-kernel";
  fault(sequence, {kLaunchFailure, cause,
                   "the GPU made no progress for " + std::to_string(options_.hang_seconds) + " s at op " +
                       std::to_string(sequence)});
}

// -- direct access -------------------------------------------------------------------------------------

template <class Work>
bool Device::tried(Work&& work) const {
  try {
    check("cuCtxSetCurrent", context_->bind());
    work();
    return true;
  } catch (const OpError& error) {
    fault(0, error);
    return false;
  }
}

bool Device::read(uint64_t address, std::span<std::byte> out) const {
  if (!memory_.contains(address, out.size())) return false;
  return tried([&] {
    size_t at = 0;
    transfer_->read(address, out.size(), [&](std::span<const std::byte> part) {
      std::memcpy(out.data() + at, part.data(), part.size());
      at += part.size();
    });
  });
}

bool Device::read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const {
  if (!memory_.contains(address, out.size())) return false;
  return tried([&] {
    ContentHasher hasher;
    size_t at = 0;
    transfer_->read(address, out.size(), [&](std::span<const std::byte> part) {
      const auto piece = out.subspan(at, part.size());
      std::memcpy(piece.data(), part.data(), part.size());
      hasher.add(piece);
      at += part.size();
    });
    hash = hasher.finish();
  });
}

bool Device::write(uint64_t address, std::span<const std::byte> data) {
  return memory_.contains(address, data.size()) && tried([&] { transfer_->write(address, data); });
}

void Device::hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const {
  std::vector<size_t> places;
  std::vector<MemoryRange> there;
  for (size_t i = 0; i < ranges.size(); ++i) {
    out[i] = kNoHash;
    if (!ranges[i].bytes || !memory_.contains(ranges[i].address, ranges[i].bytes)) continue;
    places.push_back(i);
    there.push_back(ranges[i]);
  }
  std::vector<Hash> hashes(there.size());
  const bool done = tried([&] {
    if (hasher_->hash(there, hashes)) return;
    std::ranges::transform(there, hashes.begin(), [&](const auto& range) { return transfer_->hash(range); });
  });
  for (size_t i = 0; done && i < places.size(); ++i) out[places[i]] = hashes[i];
}

void Device::spoil_all(std::span<const MemoryRange> ranges) {
  std::vector<MemoryRange> there;
  for (const MemoryRange& range : ranges)
    if (range.bytes && memory_.contains(range.address, range.bytes)) there.push_back(range);
  tried([&] {
    if (!hasher_->spoil(there)) spoil_by_writing(*this, there);
  });
}

bool Device::communicator(uint64_t handle, Resources::Communicator& out) const {
  return communicators_->find(handle, out);
}

}  // namespace jitc::cuda

namespace jitc {
std::shared_ptr<void> open_cuda_gpu(const Libraries& libraries, int ordinal, std::string& error) {
  struct OpenGpu {
    std::shared_ptr<cuda::Context> context;
    cuda::KernelWork kernel;  // under way before a session needs it
  };
  const auto driver = cuda::Driver::open(libraries.path("driver"), error);
  if (!driver) return nullptr;
  auto context = cuda::Context::of(driver, ordinal, error);
  if (!context) return nullptr;
  const int capability = context->capability();
  return std::shared_ptr<OpenGpu>(new OpenGpu{std::move(context), {libraries.path("nvrtc"), capability}});
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options, ExecutionSink& sink,
                                           Rendezvous& rendezvous, ImageSource& images, std::string& error) {
  auto device = std::make_unique<cuda::Device>(options, sink, rendezvous, images);
  if (!device->open(error)) return nullptr;
  return device;
}
}  // namespace jitc
