// Copies in all forms. What is device and what is host memory follows from the addresses.
//
// Promises: host-to-device bytes are taken at the call; device-to-host to pinned memory does not wait,
// to other memory it does; a copy between two GPUs is staged through the process and waits.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>

#include "capture.h"
#include "jitc/generated_ops.h"
#include "memory.h"

namespace jitc::front {
namespace {

constexpr uint64_t kPiece = 1u << 20;  // a copy op carries at most this much

/// Copies to pinned memory that are under way, so that others can wait for them.
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

/// One piece of a device-to-host copy; lives until its result has come.
struct Piece {
  std::byte* target;
  uint64_t bytes;
  std::list<Pending>::iterator entry;
};

void receive_piece(void* context, uint32_t status, std::span<const std::byte> payload) {
  std::unique_ptr<Piece> piece(static_cast<Piece*>(context));
  if (!status) std::memcpy(piece->target, payload.data(), std::min<uint64_t>(payload.size(), piece->bytes));
  PendingCopies& copies = pending();
  std::lock_guard lock(copies.mutex);
  copies.list.erase(piece->entry);
  copies.count.fetch_sub(1, std::memory_order_release);
}

Status submit_d2h(uint64_t destination, uint64_t source, uint64_t bytes, const StreamRef& stream) {
  auto piece = std::make_unique<Piece>();
  piece->target = reinterpret_cast<std::byte*>(destination);
  piece->bytes = bytes;
  PendingCopies& copies = pending();
  {
    std::lock_guard lock(copies.mutex);
    piece->entry = copies.list.insert(copies.list.end(), {destination, bytes, stream});
    copies.count.fetch_add(1, std::memory_order_release);
  }
  auto op = on_stream<ops::CopyD2h>(stream.id);
  op.address = source;
  op.bytes = bytes;
  Piece* context = piece.release();
  if (stream.session->submit_receiving(op, receive_piece, context)) return kSuccess;
  receive_piece(context, kUnknown, {});  // nothing was queued: it stays ours
  return not_submitted(*stream.session);
}

Status copy_d2h(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait) {
  for (uint64_t done = 0; done < count;) {
    const uint64_t bytes = std::min(kPiece, count - done);
    const bool last = done + bytes == count;
    if (!wait || !last) {
      if (const Status status = submit_d2h(destination + done, source + done, bytes, stream)) return status;
    } else {
      auto op = on_stream<ops::CopyD2h>(stream.id);
      op.address = source + done;
      op.bytes = bytes;
      const runtime::Result result = stream.session->call(op);
      if (result.status) return from_result(result.status);
      std::memcpy(reinterpret_cast<void*>(destination + done), result.payload.data(),
                  std::min<uint64_t>(bytes, result.payload.size()));
    }
    done += bytes;
  }
  return wait && count > kPiece ? settle_host_range(destination, count) : kSuccess;
}

Status copy_h2d(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream) {
  // The program may copy out and in again through pinned memory without waiting; we read it now.
  if (const Status status = settle_host_range(source, count)) return status;
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

Status copy_d2d(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream) {
  auto op = on_stream<ops::CopyD2d>(stream.id);
  op.destination = destination;
  op.source = source;
  op.bytes = count;
  return submitted(*stream.session, stream.session->submit(op));
}

/// The stream if it belongs to the session, else the session's default stream.
StreamRef stream_in(Session* session, const StreamRef& stream) {
  return stream.session == session ? stream : StreamRef{session, 0, device_of(session)};
}

/// Between two GPUs: everything before in the stream, then out, in, and wait, so that an event of
/// either GPU recorded afterwards covers it.
Status copy_peer(Session* to, uint64_t destination, Session* from, uint64_t source, uint64_t count,
                 const StreamRef& stream) {
  if (const Status status = synchronize(stream)) return status;
  const StreamRef out = stream_in(from, stream), in = stream_in(to, stream);
  auto staging = std::make_unique<std::byte[]>(std::min(kPiece, count));
  for (uint64_t done = 0; done < count;) {
    const uint64_t bytes = std::min(kPiece, count - done);
    const auto host = reinterpret_cast<uint64_t>(staging.get());
    if (const Status status = copy_d2h(host, source + done, bytes, out, true)) return status;
    if (const Status status = copy_h2d(destination + done, host, bytes, in)) return status;
    done += bytes;
  }
  return synchronize(in);
}

/// A graph's copy would read or write host memory at every launch; ours travel with the call.
Status refuse_host_copy(Session* session, const StreamRef& stream, uint64_t host, uint64_t count) {
  if (!session) return kSuccess;
  const StreamRef where = stream_in(session, stream);
  if (is_pinned(host, count))
    return refuse_in_capture(where,
                             "a copy to or from pinned memory would have to be made at every launch: copy "
                             "before and after the graph");
  return refuse_in_capture(where,
                           "pageable memory cannot be copied to or from: copy before and after the graph");
}

Status copy_rows(uint64_t dst, size_t dst_pitch, uint64_t src, size_t src_pitch, size_t width, size_t height,
                 const StreamRef& stream, bool wait) {
  if (width > dst_pitch || width > src_pitch) return kInvalidPitch;
  if (!width || !height) return kSuccess;
  if (dst_pitch == width && src_pitch == width) return copy(dst, src, width * height, stream, wait);
  Session* to = device_range(dst, dst_pitch * (height - 1) + width);
  if (to && to == device_range(src, src_pitch * (height - 1) + width)) {
    const StreamRef where = stream_in(to, stream);
    auto op = on_stream<ops::Copy2d>(where.id);
    op.destination = dst;
    op.destination_pitch = dst_pitch;
    op.source = src;
    op.source_pitch = src_pitch;
    op.width = width;
    op.height = height;
    return submitted(*to, to->submit(op));
  }
  Status status = kSuccess;
  for (size_t row = 0; row < height && !status; ++row)
    status = copy(dst + row * dst_pitch, src + row * src_pitch, width, stream, wait);
  return status;
}

Status copy_on(uint64_t destination, uint64_t source, uint64_t count, uint64_t stream, bool wait) {
  StreamRef ref;
  const Status status = resolve_stream(stream, &ref);
  return status ? status : copy(destination, source, count, ref, wait);
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

bool bad_kind(int32_t kind) { return kind < 0 || kind > 4; }

}  // namespace

Status settle_host_range(uint64_t address, uint64_t bytes) {
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
    auto op = on_stream<ops::StreamSynchronize>(stream.id);
    if (const uint32_t status = stream.session->call(op).status) return from_result(status);
  }
  return kSuccess;
}

Status copy(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait) {
  if (!count) return kSuccess;
  if (!destination || !source) return kInvalidValue;
  Session* to = device_owner(destination);
  Session* from = device_owner(source);
  if ((to && device_range(destination, count) != to) || (from && device_range(source, count) != from))
    return kInvalidValue;
  if (to && from) {
    if (to != from) return copy_peer(to, destination, from, source, count, stream);
    return copy_d2d(destination, source, count, stream_in(to, stream));
  }
  if (const Status status = refuse_host_copy(to ? to : from, stream, to ? source : destination, count))
    return status;
  if (to) return copy_h2d(destination, source, count, stream_in(to, stream));
  if (from) {
    const bool blocking = wait || !is_pinned(destination, count);
    return copy_d2h(destination, source, count, stream_in(from, stream), blocking);
  }
  // Host to host happens in stream order too.
  if (const Status status = synchronize(stream)) return status;
  std::memmove(reinterpret_cast<void*>(destination), reinterpret_cast<const void*>(source), count);
  return kSuccess;
}

int32_t cudaMemcpy(void* dst, const void* src, size_t count, int32_t kind) {
  if (bad_kind(kind)) return 21;  // cudaErrorInvalidMemcpyDirection
  return copy_on(address(dst), address(src), count, 0, true);
}
int32_t cudaMemcpyAsync(void* dst, const void* src, size_t count, int32_t kind, uint64_t stream) {
  if (bad_kind(kind)) return 21;
  return copy_on(address(dst), address(src), count, stream, false);
}
int32_t cuMemcpy(uint64_t dst, uint64_t src, size_t count) { return copy_on(dst, src, count, 0, true); }
int32_t cuMemcpyAsync(uint64_t dst, uint64_t src, size_t count, uint64_t stream) {
  return copy_on(dst, src, count, stream, false);
}
int32_t cudaMemcpyPeer(void* dst, int32_t, const void* src, int32_t, size_t count) {
  return copy_on(address(dst), address(src), count, 0, true);
}
int32_t cudaMemcpyPeerAsync(void* dst, int32_t, const void* src, int32_t, size_t count, uint64_t stream) {
  return copy_on(address(dst), address(src), count, stream, false);
}
int32_t cuMemcpyPeer(uint64_t dst, uint64_t, uint64_t src, uint64_t, size_t count) {
  return cuMemcpy(dst, src, count);
}
int32_t cuMemcpyPeerAsync(uint64_t dst, uint64_t, uint64_t src, uint64_t, size_t count, uint64_t stream) {
  return cuMemcpyAsync(dst, src, count, stream);
}
int32_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                          size_t height, int32_t kind, uint64_t stream) {
  StreamRef ref;
  if (bad_kind(kind)) return 21;
  const Status status = resolve_stream(stream, &ref);
  return status ? status
                : copy_rows(address(dst), dst_pitch, address(src), src_pitch, width, height, ref, false);
}
int32_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                     size_t height, int32_t kind) {
  StreamRef ref;
  if (bad_kind(kind)) return 21;
  const Status status = resolve_stream(0, &ref);
  return status ? status
                : copy_rows(address(dst), dst_pitch, address(src), src_pitch, width, height, ref, true);
}

}  // namespace jitc::front
