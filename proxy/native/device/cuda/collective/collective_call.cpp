// See collective_call.h.
#include "collective_call.h"

#include <algorithm>
#include <array>
#include <optional>

#include "device/common/collective_shape.h"
#include "device/common/operands.h"
#include "device/cuda/driver/error.h"
#include "scalar.h"

namespace jitc::cuda {
namespace {
using ops::CollectiveKind;

/// Widths by ncclDataType_t; the last two are 8-bit floats, which older libraries refuse themselves.
constexpr std::array<size_t, 12> kWidths{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

bool is_premul(const ops::CollectiveItem& item) {
  return has_reduction(kind_of(item)) && item.reduction == static_cast<uint32_t>(ops::Reduction::premul_sum);
}

void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

/// Runs an all-to-all as sends and receives: NCCL has it since 2.28 only, and the effect is the same.
int all_to_all(const Nccl& nccl, const ops::CollectiveItem& item, const Communicator& communicator,
               NcclComm comm, NcclStream stream) {
  const uint64_t part = item.count * kWidths[item.dtype];
  const auto dtype = static_cast<int>(item.dtype);
  for (uint32_t peer = 0; peer < communicator.ranks(); ++peer) {
    const auto other = static_cast<int>(peer);
    if (const int bad = nccl.send(at(item.send + peer * part), item.count, dtype, other, comm, stream);
        unhealthy(bad))
      return bad;
    if (const int bad = nccl.receive(at(item.receive + peer * part), item.count, dtype, other, comm, stream);
        unhealthy(bad))
      return bad;
  }
  return kNcclSuccess;
}

/// Waits a little, longer after many waits.
void pause(int times) {
  if (times < 2000) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(times < 4000 ? 20 : 500));
}
constexpr int kLong = 4000;  // pauses after which other ranks are being waited for
}  // namespace

CollectiveCall::CollectiveCall(CommunicatorContext& context, const ops::Collective& op)
    : context_(context), op_(op), items_(items_of(op)) {}

void CollectiveCall::add(std::shared_ptr<Communicator> communicator) {
  if (std::find(members_.begin(), members_.end(), communicator.get()) == members_.end())
    members_.push_back(communicator.get());
  communicators_.push_back(std::move(communicator));
}

bool CollectiveCall::prepare() {
  for (Communicator* const member : members_) {
    member->note(op_.header.sequence);
    member->wait_ready();
  }
  if (ends()) return false;
  nccl_ = &members_.front()->handle().nccl();
  for (size_t i = 0; i < items_.size(); ++i) check(items_[i], *communicators_[i]);
  return true;
}

std::vector<CollectiveCall::Operands> CollectiveCall::operands() const {
  std::vector<Operands> all;
  for (size_t i = 0; i < items_.size(); ++i) {
    const ops::CollectiveItem& item = items_[i];
    const size_t width = kWidths[item.dtype];
    const Extent times = extent(item, communicators_[i]->ranks(), communicators_[i]->rank());
    all.push_back({item, item.send ? size_of(item.count, width, times.send) : 0,
                   item.receive ? size_of(item.count, width, times.receive) : 0,
                   is_premul(item) && item.scale_address ? width : 0});
  }
  return all;
}

void CollectiveCall::redirect(std::vector<ops::CollectiveItem> items) {
  redirected_ = std::move(items);
  items_ = redirected_;
}

void CollectiveCall::check(const ops::CollectiveItem& item, const Communicator& communicator) const {
  const size_t width = item.dtype < kWidths.size() ? kWidths[item.dtype] : 0;
  check_kind_and_type(item, width);
  check_reduction_and_peer(item, communicator.ranks());
  const Extent times = extent(item, communicator.ranks(), communicator.rank());
  check_range("send buffer", item.send, item.count, width, times.send);
  check_range("receive buffer", item.receive, item.count, width, times.receive);
  if (is_premul(item) && item.scale_address) check_range("scale", item.scale_address, 1, width, 1);
}

void CollectiveCall::check_range(const char* what, uint64_t address, uint64_t count, size_t width,
                                 uint64_t times) const {
  const uint64_t bytes = size_of(count, width, times);
  if (bytes && !context_.host.allocated(address, bytes, op_.header.sequence))
    refuse_address(what, address, bytes);
}

bool CollectiveCall::ends() const {
  return std::any_of(members_.begin(), members_.end(), [](const Communicator* one) { return one->ends(); });
}

CollectiveCall::Locks CollectiveCall::hold_all() const {
  Locks locks;
  for (Communicator* const member : members_) locks.push_back(member->handle().hold());
  return locks;
}

/// Makes the reductions. A factor on the device is read when the collective runs, one in the op now.
int CollectiveCall::make_reductions() {
  reductions_.clear();
  for (size_t i = 0; i < items_.size(); ++i) {
    const ops::CollectiveItem& item = items_[i];
    reductions_.push_back(static_cast<int>(item.reduction));
    if (!is_premul(item)) continue;
    std::optional<Scalar> factor = scalar_of(item.dtype, item.scale);
    if (!factor && !item.scale_address) refuse_value("the factor does not fit its data type");
    void* const scalar = item.scale_address ? at(item.scale_address) : factor->data();
    const int residence = item.scale_address ? kNcclScalarDevice : kNcclScalarHost;
    const int bad = nccl_->premul_create(&reductions_.back(), scalar, static_cast<int>(item.dtype), residence,
                                         communicators_[i]->handle().get());
    if (bad) return bad;
    premuls_.push_back({communicators_[i].get(), reductions_.back()});
  }
  return kNcclSuccess;
}

int CollectiveCall::call(size_t index, NcclStream stream) const {
  const ops::CollectiveItem& item = items_[index];
  const Nccl& nccl = *nccl_;
  Communicator& communicator = *communicators_[index];
  const NcclComm comm = communicator.handle().get();
  void* const send = at(item.send);
  void* const receive = at(item.receive);
  const auto dtype = static_cast<int>(item.dtype);
  switch (kind_of(item)) {
    case CollectiveKind::all_reduce:
      return nccl.all_reduce(send, receive, item.count, dtype, reductions_[index], comm, stream);
    case CollectiveKind::broadcast:  // only one buffer may be given: then it is both
      return nccl.broadcast(send ? send : receive, receive ? receive : send, item.count, dtype, item.peer,
                            comm, stream);
    case CollectiveKind::reduce:
      return nccl.reduce(send, receive, item.count, dtype, reductions_[index], item.peer, comm, stream);
    case CollectiveKind::all_gather:
      return nccl.all_gather(send, receive, item.count, dtype, comm, stream);
    case CollectiveKind::reduce_scatter:
      return nccl.reduce_scatter(send, receive, item.count, dtype, reductions_[index], comm, stream);
    case CollectiveKind::all_to_all:
      return all_to_all(nccl, item, communicator, comm, stream);
    case CollectiveKind::send:
      return nccl.send(send, item.count, dtype, item.peer, comm, stream);
    default:
      return nccl.receive(receive, item.count, dtype, item.peer, comm, stream);
  }
}

int CollectiveCall::call_all(NcclStream stream) const {
  int first = kNcclSuccess;
  const auto keep = [&](int result) {
    if (!unhealthy(first) && result != kNcclSuccess) first = result;
  };
  keep(nccl_->group_start());
  if (unhealthy(first)) return first;
  for (size_t i = 0; i < items_.size() && !unhealthy(first); ++i)
    if (items_[i].count) keep(call(i, stream));  // none: then on every rank
  keep(nccl_->group_end());                      // always: the group belongs to this thread
  return first;
}

bool CollectiveCall::start(NcclStream stream) {
  const Locks locks = hold_all();
  if (ends()) return false;
  for (Communicator* const member : members_) (void)member->handle().get();  // all or none
  int bad = make_reductions();
  if (!unhealthy(bad)) bad = call_all(stream);
  refuse_nccl(*nccl_, bad, members_.front()->handle().get());
  return true;
}

void CollectiveCall::finish() {
  for (Communicator* const member : members_) await(*member);
  drop_reductions();
}

void CollectiveCall::await(Communicator& communicator) {
  const Patience patience(context_.hang_seconds);
  std::optional<Waiting<CommunicatorHost>> waiting;
  for (int times = 0;; ++times) {
    const int result = communicator.handle().result();
    if (context_.given_up) throw Abandoned{};  // the fence may have caused the result
    if (communicator.ends()) return;
    communicator.handle().check(result);
    if (result == kNcclSuccess) return;
    if (patience.over())
      refuse(kUnknown, "hung-collective", "NCCL does not get the collective onto its stream in time");
    if (times == kLong) waiting.emplace(context_.host);
    pause(times);
  }
}

void CollectiveCall::drop_reductions() {
  for (const Premul& one : premuls_) {
    const auto lock = one.communicator->handle().hold();
    if (one.communicator->ends()) continue;  // destroyed, with its reductions
    (void)nccl_->premul_destroy(one.reduction, one.communicator->handle().get());
  }
  premuls_.clear();
}

}  // namespace jitc::cuda
