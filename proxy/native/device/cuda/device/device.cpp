// Life of the device: opening, taking ops, failing, fence and restore. See device.h.
#include "device.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/common/operands.h"
#include "device/cuda/module/kernel_build.h"
#include "device/devices.h"

namespace jitc::cuda {
namespace {

/// Returns the time for the driver to reclaim a lost worker's memory; no longer than silence is tolerated.
std::chrono::duration<double> patience_of(const BackendOptions& options) {
  constexpr double kSeconds = 15;
  return std::chrono::duration<double>(
      options.given.hang_seconds > 0 ? std::min(kSeconds, options.given.hang_seconds) : kSeconds);
}

/// Returns why the GPU cannot be used, or nothing.
std::string unusable(const Context& context) {
  if (!context.attribute(abi::kAttributeVirtualMemory))
    return "the GPU or its driver has no virtual memory management";
  if (!context.attribute(abi::kAttributeStreamMemoryOps64))
    return "the GPU or its driver cannot write 64-bit values in stream order";
  return {};
}

}  // namespace

std::unique_ptr<Device> Device::open(const BackendOptions& options, ExecutionSink& sink,
                                     CommunicatorSegments& segments, ImageSource& images,
                                     std::string& error) {
  const auto driver = Driver::open(options.libraries.path("driver"), error);
  if (!driver) return nullptr;
  auto context = Context::of(driver, options.ordinal, error);
  if (!context) return nullptr;
  if (error = unusable(*context); !error.empty()) return nullptr;
  auto memory = std::make_unique<Memory>(options.address_base, options.address_bytes, options.memory_limit,
                                         budget_of(options), patience_of(options), options.node_memory);
  if (!memory->reserve(context, error)) return nullptr;
  try {
    return std::make_unique<Device>(options, std::move(context), std::move(memory), sink, segments, images);
  } catch (const OpError& failure) {
    error = failure.message;
    return nullptr;
  }
}

Device::Device(const BackendOptions& options, std::shared_ptr<Context> context,
               std::unique_ptr<Memory> memory, ExecutionSink& sink, CommunicatorSegments& segments,
               ImageSource& images)
    : options_(options),
      sink_(sink),
      context_(std::move(context)),
      quiesce_(options.ordinal, options.given.hang_seconds),
      state_(sink,
             [this] {
               poller_.close();
               residency_.give_up();
               families_.collectives.communicators().interrupt();
             }),
      memory_(std::move(memory)),
      pool_(context_),
      watch_(mutex_, state_, *context_, streams_, poller_, options.given.hang_seconds),
      poller_(context_, sink, watch_, options.given.hang_seconds),
      streams_(context_, poller_),
      events_(context_),
      issuer_(mutex_, state_, sink, context_, *memory_, pool_, poller_, streams_),
      access_(context_, *memory_, residency_, state_, options.libraries.path("nvrtc")),
      families_(
          {options_, issuer_, state_, *memory_, residency_, poller_, streams_, events_, segments, images}),
      injector_(issuer_, streams_, families_.collectives, options.libraries.path("nvrtc")),
      direct_path_(context_, *memory_, residency_, quiesce_, options.libraries.path("nccl")),
      residency_(*memory_, state_,
                 {options.turn, options.given.hang_seconds, options.outdated, [this] { return busy(); },
                  [this] { stuck(); }}),
      aspects_({mutex_, state_, issuer_, poller_, families_, injector_, residency_}) {
  issuer_.also_drains([this] { access_.copies().finish(); });
}

Device::~Device() { fence(); }

// -- taking ops ----------------------------------------------------------------------------------------

void Device::enqueue(const ops::OpHeader& op) {
  if (!state_.running()) return;
  try {
    const Residency::Use use(residency_);
    const std::lock_guard lock(mutex_);
    if (state_.running()) issue_or_fail(op);
  } catch (const OpError& error) {
    const std::lock_guard lock(mutex_);
    fail(op, error);
  } catch (const Abandoned&) {
  }
}

void Device::issue_or_fail(const ops::OpHeader& op) {
  try {
    issue(op);
  } catch (const OpError& error) {
    fail(op, error);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    fail(op, {kMemoryAllocation, "host-error", std::string("the worker failed: ") + error.what()});
  }
}

void Device::issue(const ops::OpHeader& op) {
  Handlers::check(op);
  const Handler* const handler = families_.handlers.find(op);
  if (!handler) refuse(kNotSupported, "unknown-op", "the cuda device does not execute it");
  issuer_.check("cuCtxSetCurrent", context_->bind());
  if (!families_.graphs.take(op)) (*handler)(op);
  streams_.issued();
}

void Device::fail(const ops::OpHeader& op, const OpError& error) {
  const ops::OpInfo* const info = ops::find(op.op);
  const std::string message = about(op, info, error.message);
  const bool forgiven = families_.graphs.captures().invalidate(op, error, message);
  if (info && info->waits && !error.sticky)
    return sink_.result(op.sequence, error.status, std::as_bytes(std::span(message)));
  if (forgiven) return;
  // A sticky error is mostly that of earlier work.
  const uint64_t earlier = error.sticky ? streams_.suspect() : 0;
  state_.fault(earlier ? std::min(earlier, op.sequence) : op.sequence, error.status, error.cause, message);
}

/// Does not wait for a fence, which has the mutex until the GPU is idle, maybe after the caller has
/// continued.
void Device::flush() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock && state_.running()) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    (void)lock.try_lock();
  }
  if (!state_.running() || streams_.all_marked()) return;
  try {
    issuer_.check("cuCtxSetCurrent", context_->bind());
    streams_.mark_all();
  } catch (const OpError& error) {
    state_.fault(streams_.suspect(), error.status, error.cause, error.message);
  }
}

Backend::Idle Device::await_idle(std::optional<std::chrono::milliseconds> limit) {
  flush();
  const auto end = limit ? std::optional(std::chrono::steady_clock::now() + *limit) : std::nullopt;
  const bool rests = poller_.wait_all(end) && families_.collectives.communicators().wait_quiet(end);
  if (!state_.running() || !poller_.is_open()) return Idle::never;
  return rests ? Idle::yes : Idle::not_yet;
}

// -- fence and restore ---------------------------------------------------------------------------------

/// Gives up collectives without the mutex: the dispatcher has it, and may be inside the driver behind a
/// collective that does not end. Later work on the GPU is not reported: the poller is closed before, and the
/// sink takes no more result of the dispatcher's current op.
void Device::fence() {
  state_.fence();
  poller_.close();
  residency_.give_up();
  injector_.release();
  families_.collectives.communicators().abort_all();
  const auto lock = quiesce_.lock(mutex_);
  context_->bind();
  families_.graphs.let_communicating_go();
  injector_.release();  // stalled streams; an abort waits for collectives behind them
  // Includes communicators that the dispatcher has made meanwhile. Before waiting for streams: a collective
  // whose peer is lost ends no other way.
  if (!families_.collectives.fence(quiesce_.limit())) quiesce_.give_up_process();
  std::vector<abi::CUstream> all = access_.copies().streams();
  for (const Stream* const one : streams_.all()) all.push_back(one->own());
  quiesce_.wait_for(context_->driver(), all);
  poller_.reset();
  streams_.forget_all();
  at_rest_ = true;
  residency_.reset();
}

void Device::unfence() {
  const std::lock_guard lock(mutex_);
  at_rest_ = false;
  poller_.open();
  state_.run();
  families_.collectives.communicators().resume();
}

void Device::commit() {
  const std::lock_guard lock(mutex_);
  if (context_->bind() != 0) return;
  poller_.be_careful(false);
  const bool quiesced = streams_.all_idle();
  memory_->commit(quiesced);
  if (quiesced) {
    families_.graphs.commit();
    families_.modules.commit();
  }
  streams_.reap(false);
}

bool Device::restore(const Resources& resources, std::string& error) {
  const std::lock_guard lock(mutex_);
  if (!state_.fenced()) return error = "restore needs a fence first", false;
  // A recurring fault is the program's own if it recurs at the same op: until the next boundary each op is
  // marked.
  poller_.be_careful(true);
  error = "it is given up: a newer recovery has begun";
  try {
    const Residency::Use use(residency_);
    issuer_.check("cuCtxSetCurrent", context_->bind());
    families_.graphs.captures().clear();
    // Before graphs that execute them: loading by a library cannot be captured.
    families_.dnn.dnn().restore(resources.dnn_plans,
                                !resources.executables.empty() || !resources.captures.empty());
    families_.graphs.restore(resources);
    streams_.restore(resources.streams);
    events_.restore(resources.events);
    families_.collectives.communicators().restore(resources.communicators);
    if (!restore_memory(resources, error)) return false;
    families_.memory.restore(resources.host_ranges);
    families_.modules.restore(resources);
    families_.blas.blas().restore(resources.blas);
    return true;
  } catch (const OpError& failure) {
    return error = failure.message, false;
  } catch (const Abandoned&) {
    return false;
  }
}

bool Device::communicator(uint64_t handle, Resources::Communicator& out) const {
  return families_.collectives.communicators().find(handle, out);
}

// -- direct access -------------------------------------------------------------------------------------

bool Device::read(uint64_t address, std::span<std::byte> out) const { return access_.read(address, out); }

bool Device::read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const {
  return access_.read_hashed(address, out, hash);
}

bool Device::write(uint64_t address, std::span<const std::byte> data) { return access_.write(address, data); }

void Device::hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const {
  access_.hash_all(ranges, out);
}

void Device::poison_all(std::span<const MemoryRange> ranges) { access_.poison_all(ranges, *this); }

}  // namespace jitc::cuda

namespace jitc {
std::shared_ptr<void> open_cuda_gpu(const Libraries& libraries, int ordinal, std::string& error) {
  struct OpenGpu {
    std::shared_ptr<cuda::Context> context;
    cuda::KernelWork kernel;  // started before a session needs it
  };
  const auto driver = cuda::Driver::open(libraries.path("driver"), error);
  if (!driver) return nullptr;
  auto context = cuda::Context::of(driver, ordinal, error);
  if (!context) return nullptr;
  const int capability = context->capability();
  return std::shared_ptr<OpenGpu>(new OpenGpu{std::move(context), {libraries.path("nvrtc"), capability}});
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options, ExecutionSink& sink,
                                           CommunicatorSegments& segments, ImageSource& images,
                                           std::string& error) {
  return cuda::Device::open(options, sink, segments, images, error);
}
}  // namespace jitc
