// See host_copy.h.
#include "host_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>

#include "api/stream/order.h"
#include "jitc/generated_ops.h"
#include "staging_ring.h"

namespace jitc::api {
namespace {

/// Size from which passing the address of shared bytes is cheaper than sending them.
constexpr uint64_t kWorthSharing = 16u << 10;

/// Size from which bytes of pageable memory pass through shared memory.
constexpr uint64_t kWorthStaging = 64u << 10;
/// Limit for numbers passed likewise: a replay can compare those in the journal as numbers.
constexpr uint64_t kStagedNumbers = 1u << 20;

/// Size up to which numbers go through the journal: a program inspects these; larger ones it only stores.
constexpr uint64_t kLookedAt = 4u << 10;
thread_local jitc_element_type element_type = JITC_ELEMENT_UNKNOWN;

/// Copies to pinned memory in flight, so that other calls can wait for them.
struct Pending {
  uint64_t address, bytes;
  StreamRef stream;
};
struct PendingCopies {
  std::mutex mutex;
  std::list<Pending> list;
  std::atomic<size_t> count{0};
};
PendingCopies& pending() {
  static auto& out = *new PendingCopies;
  return out;
}

/// Path of a piece's bytes: the worker writes them to the program's memory itself (shared), or to a slot, or
/// they are the result.
struct Way {
  bool shared = false;
  StagingRing* ring = nullptr;
  std::byte* slot = nullptr;

  bool by_reference() const { return shared || slot; }
  uint64_t destination(uint64_t wanted) const { return slot ? reinterpret_cast<uint64_t>(slot) : wanted; }
};

/// Delivers a piece once the result has arrived; a slot is free then.
void deliver(const Way& way, std::byte* target, uint64_t bytes, uint32_t status,
             std::span<const std::byte> payload) {
  if (!status && way.slot) std::memcpy(target, way.slot, bytes);
  if (!status && !way.by_reference())
    std::memcpy(target, payload.data(), std::min<uint64_t>(payload.size(), bytes));
  if (way.slot) way.ring->give_back(way.slot);
}

/// Piece of a device-to-host copy; lives until its result has arrived.
struct Piece {
  Way way;
  std::byte* target;
  uint64_t bytes;
  std::list<Pending>::iterator entry;
};

void receive_piece(void* context, uint32_t status, std::span<const std::byte> payload) {
  std::unique_ptr<Piece> piece(static_cast<Piece*>(context));
  deliver(piece->way, piece->target, piece->bytes, status, payload);
  PendingCopies& copies = pending();
  std::lock_guard lock(copies.mutex);
  copies.list.erase(piece->entry);
  copies.count.fetch_sub(1, std::memory_order_release);
}

ops::CopyD2h plain_d2h(uint64_t source, uint64_t bytes, const StreamRef& stream) {
  auto op = on_stream<ops::CopyD2h>(stream.id);
  op.address = source;
  op.bytes = bytes;
  op.element = element_type;
  return op;
}

ops::CopyD2hPinned shared_d2h(uint64_t destination, uint64_t source, uint64_t bytes,
                              const StreamRef& stream) {
  auto op = on_stream<ops::CopyD2hPinned>(stream.id);
  op.address = source;
  op.destination = destination;
  op.bytes = bytes;
  return op;
}

Status submit_d2h(uint64_t destination, uint64_t source, uint64_t bytes, const StreamRef& stream,
                  const Way& way) {
  auto piece = std::make_unique<Piece>();
  piece->way = way;
  piece->target = reinterpret_cast<std::byte*>(destination);
  piece->bytes = bytes;
  PendingCopies& copies = pending();
  {
    std::lock_guard lock(copies.mutex);
    piece->entry = copies.list.insert(copies.list.end(), {destination, bytes, stream});
    copies.count.fetch_add(1, std::memory_order_release);
  }
  Piece* context = piece.release();
  Session& session = *stream.session;
  const uint64_t sequence =
      way.by_reference()
          ? session.submit_receiving(shared_d2h(way.destination(destination), source, bytes, stream),
                                     receive_piece, context)
          : session.submit_receiving(plain_d2h(source, bytes, stream), receive_piece, context);
  if (sequence) return kSuccess;
  receive_piece(context, kUnknown, {});  // nothing was queued, so no result will come
  return not_submitted(*stream.session);
}

/// Does the same, but returns only when the bytes have arrived.
Status call_d2h(uint64_t destination, uint64_t source, uint64_t bytes, const StreamRef& stream,
                const Way& way) {
  Session& session = *stream.session;
  const session::Result result =
      way.by_reference() ? session.call(shared_d2h(way.destination(destination), source, bytes, stream))
                         : session.call(plain_d2h(source, bytes, stream));
  deliver(way, reinterpret_cast<std::byte*>(destination), bytes, result.status, result.payload);
  return from_result(result.status);
}

/// Returns a slot's path, if there is a ring. If copies in flight use all slots, this stream's are over when
/// it is.
Way staged(StagingRing* ring, const StreamRef& stream) {
  if (!ring) return {};
  std::byte* slot = ring->take();
  if (!slot && synchronize(stream) == kSuccess) slot = ring->take();
  return {false, ring, slot};
}

/// Copies shared bytes, read by the worker on the op's arrival; until the copy is done they must not change.
Status shared_h2d(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream) {
  for (uint64_t done = 0; done < count;) {
    auto op = on_stream<ops::CopyH2dPinned>(stream.id);
    op.address = destination + done;
    op.source = source + done;
    op.bytes = std::min(kPiece, count - done);
    if (!stream.session->submit(op)) return not_submitted(*stream.session);
    done += op.bytes;
  }
  return kSuccess;
}

/// Sends the bytes with the op.
Status sent_h2d(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream) {
  for (uint64_t done = 0; done < count;) {
    auto op = on_stream<ops::CopyH2d>(stream.id);
    op.address = destination + done;
    op.bytes = std::min(kPiece, count - done);
    const std::span bytes(reinterpret_cast<const std::byte*>(source + done), op.bytes);
    if (!stream.session->submit(op, bytes)) return not_submitted(*stream.session);
    done += op.bytes;
  }
  return kSuccess;
}

/// Copies through slots, which the worker reads. If no slot is available, the rest is sent with the ops.
Status staged_h2d(StagingRing& ring, uint64_t destination, uint64_t source, uint64_t count,
                  const StreamRef& stream) {
  for (uint64_t done = 0; done < count;) {
    std::byte* const slot = ring.take();
    if (!slot) return sent_h2d(destination + done, source + done, count - done, stream);
    auto op = on_stream<ops::CopyH2dPinned>(stream.id);
    op.address = destination + done;
    op.source = reinterpret_cast<uint64_t>(slot);
    op.bytes = std::min(kPiece, count - done);
    std::memcpy(slot, reinterpret_cast<const void*>(source + done), op.bytes);
    const uint64_t sequence = stream.session->submit(op);
    if (!sequence) return ring.give_back(slot), not_submitted(*stream.session);
    ring.sent(slot, sequence);
    done += op.bytes;
  }
  return kSuccess;
}

/// Reports pinned memory to a service that checks the order of ops.
void tell_pinned(const HostRange& memory, const StreamRef& stream, bool written) {
  if (session::order_check::is_wanted() && memory.pinned)
    tell_host_memory(*stream.session, stream.id, memory.address, memory.bytes, written);
}

}  // namespace

void set_element_type(jitc_element_type type) { element_type = type; }

Status copy_d2h(const HostRange& destination, uint64_t source, const StreamRef& stream, bool wait) {
  const uint64_t count = destination.bytes;
  const bool looked_at = element_type != JITC_ELEMENT_UNKNOWN && count <= kLookedAt;
  const bool shared = !looked_at && destination.mapped_by == stream.session;
  const uint64_t worth = element_type == JITC_ELEMENT_UNKNOWN ? kWorthStaging : kStagedNumbers;
  StagingRing* const ring = !shared && count >= worth ? StagingRing::of(*stream.session) : nullptr;
  tell_pinned(destination, stream, true);
  for (uint64_t done = 0; done < count;) {
    const uint64_t bytes = std::min(kPiece, count - done);
    const bool last = done + bytes == count;
    const auto give = wait && last ? call_d2h : submit_d2h;
    const Way way = shared ? Way{.shared = true} : staged(ring, stream);
    if (const Status status = give(destination.address + done, source + done, bytes, stream, way))
      return status;
    done += bytes;
  }
  if (!wait) return kSuccess;
  if (count > kPiece)
    if (const Status status = wait_for_host_copies(destination.address, count)) return status;
  return tell_waited(*stream.session, stream.id), kSuccess;
}

Status copy_h2d(uint64_t destination, const HostRange& source, const StreamRef& stream, bool wait) {
  const uint64_t from = source.address, count = source.bytes;
  // The program may copy out and in again through the same pinned memory without a wait in between.
  if (const Status status = wait_for_host_copies(from, count, false)) return status;
  if (wait && !source.pinned)
    if (const Status status = synchronize(stream)) return status;
  tell_pinned(source, stream, false);
  const bool shared = count >= kWorthSharing && source.mapped_by == stream.session;
  StagingRing* const ring = !shared && count >= kWorthStaging ? StagingRing::of(*stream.session) : nullptr;
  const Status status = shared ? shared_h2d(destination, from, count, stream)
                        : ring ? staged_h2d(*ring, destination, from, count, stream)
                               : sent_h2d(destination, from, count, stream);
  if (status) return status;
  return wait && source.pinned ? synchronize(stream) : kSuccess;
}

Status wait_for_host_copies(uint64_t address, uint64_t bytes, bool asked) {
  PendingCopies& copies = pending();
  while (copies.count.load(std::memory_order_acquire)) {
    StreamRef stream;
    {
      std::lock_guard lock(copies.mutex);
      const auto found = std::find_if(copies.list.begin(), copies.list.end(), [&](const Pending& one) {
        return !bytes || (one.address < address + bytes && address < one.address + one.bytes);
      });
      if (found == copies.list.end()) return kSuccess;
      stream = found->stream;
    }
    // Once the stream is done the piece has been received: results come before progress.
    if (!asked) tell_unasked(*stream.session, stream.id);
    auto op = on_stream<ops::StreamSynchronize>(stream.id);
    if (const uint32_t status = stream.session->call(op).status) return from_result(status);
  }
  return kSuccess;
}

}  // namespace jitc::api
