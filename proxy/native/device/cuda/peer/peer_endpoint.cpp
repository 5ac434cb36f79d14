// See peer_endpoint.h.
#include "peer_endpoint.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "device/cuda/collective/communicator.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr int kBytes = 1;          // ncclUint8
constexpr int64_t kLook = 20'000;  // microseconds; longest delay in noticing the end
constexpr std::chrono::microseconds kPoll{200};
}  // namespace

std::vector<MemoryRange> messages_of(std::span<const MemoryRange> ranges, uint64_t most) {
  std::vector<MemoryRange> messages;
  for (const auto& [address, bytes] : ranges)
    for (uint64_t at = 0; at < bytes; at += most)
      messages.push_back({address + at, std::min(most, bytes - at)});
  return messages;
}

PeerEndpoint::PeerEndpoint(std::shared_ptr<Context> context, std::string nccl_path, DirectTransfer transfer)
    : context_(std::move(context)),
      nccl_path_(std::move(nccl_path)),
      transfer_(std::move(transfer)),
      until_(Clock::now() + transfer_.limit),
      bootstrap_(2, static_cast<uint32_t>(rank())) {}

PeerEndpoint::~PeerEndpoint() {
  if (!stream_) return;
  context_->bind();
  context_->driver().cuStreamDestroy(stream_);
}

void PeerEndpoint::open() {
  std::string error;
  if (!bootstrap_.map(transfer_.path, transfer_.path_bytes, error)) refuse_value(error);
  met_ = true;
}

void PeerEndpoint::move(std::span<const MemoryRange> ranges) {
  std::string error;
  nccl_ = Nccl::open(nccl_path_, error);
  if (!nccl_) refuse(kNotSupported, "no-nccl", error);
  const Driver& driver = context_->driver();
  check(driver, "cuCtxSetCurrent", context_->bind());
  check(driver, "cuStreamCreateWithPriority",
        driver.cuStreamCreateWithPriority(&stream_, abi::kStreamNonBlocking, 0));
  connect(meet());
  const auto messages = messages_of(ranges, kPiece);
  for (std::span<const MemoryRange> rest = messages; !rest.empty();) {
    const size_t count = std::min(kGroup, rest.size());
    put_on_stream(rest.first(count));
    rest = rest.subspan(count);
  }
  wait_through();
  take_leave();
}

void PeerEndpoint::check_going() const {
  if (Clock::now() > until_) refuse(kUnknown, "transfer", "the blocks are not there in time over NCCL");
  if (bootstrap_.refused()) refuse(kUnknown, "transfer", "the other end of the transfer has given up");
  if (transfer_.cancelled()) throw Abandoned{};
}

NcclUniqueId PeerEndpoint::meet() {
  const uint64_t token = NcclBootstrap::fresh_token();
  bootstrap_.arrive(token);
  NcclUniqueId id;
  std::vector<uint64_t> tokens;
  for (;;) {
    const uint32_t seen = bootstrap_.doorbell();
    const auto present = bootstrap_.present();
    if (transfer_.sends && present && !bootstrap_.refused()) {
      finish(nccl_->get_unique_id(&id));
      bootstrap_.publish(id, *present);
      return id;
    }
    if (!transfer_.sends && bootstrap_.read(token, id, tokens)) return id;
    check_going();
    bootstrap_.sleep(seen, kLook);
  }
}

void PeerEndpoint::connect(const NcclUniqueId& id) {
  NcclConfig config;
  config.blocking = 0;
  const int result = nccl_->init_rank(&comm_, 2, id, rank(), &config);
  finish(!comm_ && !unhealthy(result) ? kNcclInternalError : result);
}

int PeerEndpoint::call(const MemoryRange& message) {
  void* const place = reinterpret_cast<void*>(message.address);
  const auto stream = reinterpret_cast<NcclStream>(stream_);
  return transfer_.sends ? nccl_->send(place, message.bytes, kBytes, 1, comm_, stream)
                         : nccl_->receive(place, message.bytes, kBytes, 0, comm_, stream);
}

void PeerEndpoint::put_on_stream(std::span<const MemoryRange> messages) {
  int first = nccl_->group_start();
  finish(first);
  for (const MemoryRange& message : messages) {
    if (unhealthy(first)) break;
    first = call(message);
  }
  const int ended = nccl_->group_end();  // always: the group belongs to this thread
  finish(unhealthy(first) ? first : ended);
}

int PeerEndpoint::async_error() {
  int state = kNcclSuccess;
  const int result = nccl_->async_error(comm_, &state);
  return result == kNcclSuccess ? state : result;
}

/// Waits while NCCL works. Throws for an unhealthy result.
void PeerEndpoint::finish(int result) {
  while (result == kNcclInProgress) {
    check_going();
    std::this_thread::sleep_for(kPoll);
    result = async_error();
  }
  refuse_nccl(*nccl_, result, comm_);
}

void PeerEndpoint::wait_through() {
  const Driver& driver = context_->driver();
  abi::CUresult status;
  while ((status = driver.cuStreamQuery(stream_)) == kNotReady) {
    finish(async_error());
    check_going();
    std::this_thread::sleep_for(kPoll);
  }
  check(driver, "work on the GPU", status);
  finish(async_error());
}

/// Finalizes, since the sender's stream can end before the network transfer.
void PeerEndpoint::take_leave() {
  finish(nccl_->finalize(comm_));
  finish(async_error());
  nccl_->destroy(std::exchange(comm_, nullptr));
}

bool PeerEndpoint::give_up(std::chrono::milliseconds rest) {
  if (met_) bootstrap_.refuse();
  if (comm_) nccl_->abort(std::exchange(comm_, nullptr));
  if (!stream_) return true;
  const auto until = Clock::now() + rest;
  while (context_->driver().cuStreamQuery(stream_) == kNotReady) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace jitc::cuda
