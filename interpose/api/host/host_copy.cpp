// See host_copy.h.
#include "host_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>

#include "api/stream/order.h"
#include "host_memory.h"
#include "jitc/generated_ops.h"

namespace jitc::api {
namespace {

/// From this size on, it is cheaper to pass the address of shared bytes than to send them.
constexpr uint64_t kWorthSharing = 16u << 10;

/// Numbers up to this size go through the journal: these a program looks at; larger ones it only stores.
constexpr uint64_t kLookedAt = 4u << 10;
thread_local jitc_element_type element_type = JITC_ELEMENT_UNKNOWN;

/// Copies to pinned memory that are under way, so that other calls can wait for them.
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

/// One piece of a device-to-host copy; lives until its result has arrived.
struct Piece {
  std::byte* target;  // null: the worker writes to the memory itself
  uint64_t bytes;
  std::list<Pending>::iterator entry;
};

void receive_piece(void* context, uint32_t status, std::span<const std::byte> payload) {
  std::unique_ptr<Piece> piece(static_cast<Piece*>(context));
  if (!status && piece->target)
    std::memcpy(piece->target, payload.data(), std::min<uint64_t>(payload.size(), piece->bytes));
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
                  bool shared) {
  auto piece = std::make_unique<Piece>();
  piece->target = shared ? nullptr : reinterpret_cast<std::byte*>(destination);
  piece->bytes = bytes;
  PendingCopies& copies = pending();
  {
    std::lock_guard lock(copies.mutex);
    piece->entry = copies.list.insert(copies.list.end(), {destination, bytes, stream});
    copies.count.fetch_add(1, std::memory_order_release);
  }
  Piece* context = piece.release();
  Session& session = *stream.session;
  if (shared
          ? session.submit_receiving(shared_d2h(destination, source, bytes, stream), receive_piece, context)
          : session.submit_receiving(plain_d2h(source, bytes, stream), receive_piece, context))
    return kSuccess;
  receive_piece(context, kUnknown, {});  // nothing was queued, so no result will come
  return not_submitted(*stream.session);
}

/// The same, but returns only when the bytes have arrived.
Status call_d2h(uint64_t destination, uint64_t source, uint64_t bytes, const StreamRef& stream, bool shared) {
  Session& session = *stream.session;
  if (shared) return from_result(session.call(shared_d2h(destination, source, bytes, stream)).status);
  const session::Result result = session.call(plain_d2h(source, bytes, stream));
  if (result.status) return from_result(result.status);
  std::memcpy(reinterpret_cast<void*>(destination), result.payload.data(),
              std::min<uint64_t>(bytes, result.payload.size()));
  return kSuccess;
}

/// The worker reads the bytes when the op arrives; until the copy is done, the program must not change them.
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

/// The bytes travel with the op.
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

/// For a service that checks the order of ops.
void tell_pinned(uint64_t address, uint64_t bytes, const StreamRef& stream, bool written) {
  if (session::order_check::is_wanted() && is_pinned(address, bytes))
    tell_host_memory(*stream.session, stream.id, address, bytes, written);
}

}  // namespace

void set_element_type(jitc_element_type type) { element_type = type; }

Status copy_d2h(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait) {
  const bool looked_at = element_type != JITC_ELEMENT_UNKNOWN && count <= kLookedAt;
  const bool shared = !looked_at && is_shared(*stream.session, destination, count);
  tell_pinned(destination, count, stream, true);
  for (uint64_t done = 0; done < count;) {
    const uint64_t bytes = std::min(kPiece, count - done);
    const bool last = done + bytes == count;
    const auto give = wait && last ? call_d2h : submit_d2h;
    if (const Status status = give(destination + done, source + done, bytes, stream, shared)) return status;
    done += bytes;
  }
  if (!wait) return kSuccess;
  if (count > kPiece)
    if (const Status status = wait_for_host_copies(destination, count)) return status;
  return tell_waited(*stream.session, stream.id), kSuccess;
}

Status copy_h2d(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait) {
  // The program may copy out and in again through the same pinned memory without waiting for the first copy.
  if (const Status status = wait_for_host_copies(source, count, false)) return status;
  const bool pinned = is_pinned(source, count);
  if (wait && !pinned)
    if (const Status status = synchronize(stream)) return status;
  tell_pinned(source, count, stream, false);
  const bool shared = count >= kWorthSharing && is_shared(*stream.session, source, count);
  const auto give = shared ? shared_h2d : sent_h2d;
  if (const Status status = give(destination, source, count, stream)) return status;
  return wait && pinned ? synchronize(stream) : kSuccess;
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
