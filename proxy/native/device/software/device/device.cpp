// Life of the device: taking ops, fencing, restoring, direct access. See device.h.
#include "device.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/content_hash.h"
#include "base/operands.h"
#include "base/parallel.h"
#include "device/common/operands.h"
#include "device/devices.h"
#include "device/poison.h"

namespace jitc::software {
namespace {
/// Piece that is copied and hashed at once: small enough to stay in the processor's cache for the hash.
constexpr size_t kHashedPiece = 256u << 10;
static_assert(kHashedPiece % content::kStripe == 0);
std::atomic<uint32_t> broken{0};

void check_health() {
  if (const uint32_t status = broken.load()) refuse(status, "sticky-error", "the device is broken");
}
}  // namespace

void break_device(uint32_t status) { broken.store(status); }

std::unique_ptr<Device> Device::open(const BackendOptions& options, ExecutionSink& sink,
                                     CommunicatorSegments& segments, ImageSource& images,
                                     std::string& error) {
  auto operators =
      Operators::open(options.libraries.path("operators"), options.threads, options.given.noise, error);
  if (!operators) return nullptr;
  auto device = std::make_unique<Device>(options, std::move(operators), sink, segments, images);
  if (!device->memory_.reserve(error)) return nullptr;
  return device;
}

Device::Device(const BackendOptions& options, std::shared_ptr<const Operators> operators, ExecutionSink& sink,
               CommunicatorSegments& segments, ImageSource& images)
    : options_(options),
      shuffled_(options.shuffle.on() ? std::make_unique<Shuffled>(options.shuffle, sink, hub_) : nullptr),
      sink_(shuffled_ ? shuffled_->sink() : sink),
      state_(sink_, [this] { give_up_waits(); }),
      failures_(sink_, state_),
      memory_(watched_, options.address_base, options.address_bytes, options.memory_limit, budget_of(options),
              options.node_memory),
      residency_(memory_, state_, {options.turn, options.given.hang_seconds, options.outdated}),
      modules_(images),
      runner_(sink_, state_, failures_, residency_, hub_, crew_),
      streams_(shuffled_ ? shuffled_->before(runner_, crew_) : runner_, crew_, hangs_),
      issuer_(sink_, hub_, streams_, runner_),
      families_({options_, issuer_, failures_, memory_, residency_, modules_, hub_, crew_, streams_, runner_,
                 segments, operators}),
      order_(options.given.check_order
                 ? std::make_unique<order::Checker>(std::move(operators),
                                                    families_.collectives.communicators(), sink)
                 : nullptr),
      hangs_(hub_, state_, residency_, options.given.hang_seconds),
      aspects_(hangs_, residency_, families_.collectives.communicators()) {
  streams_.watch_legacy();
}

Device::~Device() { fence(); }

void Device::give_up_waits() {
  hub_.give_up();
  residency_.give_up();
  families_.collectives.communicators().abort();
  if (shuffled_) shuffled_->give_up();
  crew_.changed();
}

// -- taking ops ----------------------------------------------------------------------------------------

void Device::enqueue(const ops::OpHeader& op) {
  const std::lock_guard lock(mutex_);
  if (state_.running()) failures_.guard(op, [&] { issue(op); });
}

void Device::issue(const ops::OpHeader& op) {
  Handlers::check(op);
  check_health();
  hangs_.pass(op);
  try {
    perform(op);
  } catch (const OpError& error) {
    const ops::OpInfo* const info = ops::find(op.op);
    const bool spoils = families_.graphs.captures().invalidate(op, error, about(op, info, error.message));
    if (!spoils || info->waits) throw;
  }
}

void Device::perform(const ops::OpHeader& op) {
  const Handler* const handler = families_.handlers.find(op);
  if (!handler) refuse(kNotSupported, "unknown-op", "the software device does not run kernels");
  if (families_.graphs.take(op)) return;
  if (order_) order_->take(op);
  (*handler)(op);
}

Backend::Idle Device::await_idle(std::optional<std::chrono::milliseconds> limit) {
  const auto quiet = [this] {
    return runner_.idle() && families_.collectives.communicators().quiet() &&
           (!shuffled_ || shuffled_->quiet());
  };
  const bool rests = hub_.wait(quiet, limit);
  if (!rests && !hub_.given_up() && state_.running()) return Idle::not_yet;
  return rests && state_.running() ? Idle::yes : Idle::never;
}

// -- fence and restore ---------------------------------------------------------------------------------

void Device::fence() {
  state_.fence();
  give_up_waits();
  hangs_.fence();
  const std::lock_guard lock(mutex_);  // an enqueue in progress still pushes; the next one does not
  hub_.wait_always([this] { return runner_.idle(); });
  if (shuffled_) shuffled_->fence();
  families_.collectives.communicators().renew();
  streams_.reap();
  residency_.reset();
}

void Device::unfence() {
  const std::lock_guard lock(mutex_);
  hub_.reset();
  hangs_.restart();
  if (shuffled_) shuffled_->unfence();
  state_.run();
}

bool Device::restore(const Resources& resources, std::string& error) {
  const std::lock_guard lock(mutex_);
  if (!state_.fenced()) return error = "restore needs a fence first", false;
  streams_.restore(resources.streams);
  if (order_) order_->restore(resources.streams);
  families_.events.restore(resources.events);
  families_.graphs.restore(resources);
  try {
    modules_.restore(resources);
    families_.collectives.communicators().restore(resources.communicators);
  } catch (const OpError& failure) {
    return error = failure.message, false;
  }
  memory_.host_ranges().restore(resources.host_ranges);
  return restore_memory(resources, error);
}

bool Device::restore_memory(const Resources& resources, std::string& error) {
  error = "it is given up: a newer recovery has begun";
  return with_memory(
      [&](Residency::Use& use) {
        uint64_t missing = 0;
        do {
          if (memory_.restore(resources, error, missing)) return true;
        } while (missing && use.make_room(missing));
        return false;
      },
      &error);
}

template <class Work>
bool Device::with_memory(Work&& work, std::string* error) const {
  try {
    Residency::Use use(residency_);
    return work(use);
  } catch (const OpError& failure) {
    if (error) *error = failure.message;
  } catch (const Abandoned&) {
  }
  return false;
}

void Device::commit() {
  const std::lock_guard lock(mutex_);
  memory_.commit(runner_.idle());
  modules_.commit();
}

bool Device::communicator(uint64_t handle, Resources::Communicator& out) const {
  return families_.collectives.communicators().find(handle, out);
}

// -- direct access -------------------------------------------------------------------------------------

bool Device::read(uint64_t address, std::span<std::byte> out) const {
  return with_memory([&](Residency::Use&) {
    const void* const from = memory_.find(address, out.size(), UINT64_MAX);
    if (from && !out.empty()) std::memcpy(out.data(), from, out.size());
    return from != nullptr;
  });
}

bool Device::read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) const {
  return with_memory([&](Residency::Use&) {
    const auto* const from = static_cast<const std::byte*>(memory_.find(address, out.size(), UINT64_MAX));
    if (!from) return false;
    ContentHasher hasher;
    for (size_t at = 0; at < out.size(); at += kHashedPiece) {
      const auto piece = out.subspan(at, std::min(kHashedPiece, out.size() - at));
      std::memcpy(piece.data(), from + at, piece.size());
      hasher.add(piece);
    }
    hash = hasher.finish();
    return true;
  });
}

bool Device::write(uint64_t address, std::span<const std::byte> data) {
  return with_memory([&](Residency::Use&) {
    void* const to = memory_.find(address, data.size(), UINT64_MAX);
    if (to && !data.empty()) std::memcpy(to, data.data(), data.size());
    return to != nullptr;
  });
}

void Device::hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) const {
  std::ranges::fill(out, kNoHash);
  with_memory([&](Residency::Use&) {
    std::vector<size_t> unknown;
    uint64_t total = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const auto [address, bytes] = ranges[i];
      if (!bytes || !memory_.find(address, bytes, UINT64_MAX)) continue;
      out[i] = steady_.known(ranges[i]);
      if (out[i] != kNoHash) continue;
      unknown.push_back(i);
      total += bytes;
    }
    in_parallel(copy_threads(), unknown.size(), total, [&](size_t at) {
      const auto [address, bytes] = ranges[unknown[at]];
      Hash& hash = out[unknown[at]];
      hash = content_hash({reinterpret_cast<const std::byte*>(address), bytes});
      steady_.saw(ranges[unknown[at]], hash);
    });
    return true;
  });
}

void Device::poison_all(std::span<const MemoryRange> ranges) { poison_by_writing(*this, ranges); }

}  // namespace jitc::software

namespace jitc {
std::unique_ptr<Backend> make_software_backend(const BackendOptions& options, ExecutionSink& sink,
                                               CommunicatorSegments& segments, ImageSource& images,
                                               std::string& error) {
  return software::Device::open(options, sink, segments, images, error);
}
}  // namespace jitc
