// Copies in all forms. The addresses show what is device memory and what is host memory.
//
// Promises: a device-to-host copy to pinned memory does not wait, to other memory it does; a copy on a stream
// of another GPU than its memory's waits before and after; one between two GPUs is staged through the process
// and waits. host_copy.h has the promises about host memory, and the waits of a synchronous cudaMemcpy.
#include "copy.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "api/common/guard.h"
#include "api/generated/generated_api.h"
#include "api/host/host_copy.h"
#include "api/stream/capture.h"
#include "jitc/generated_ops.h"
#include "place.h"

namespace jitc::api {
namespace {

Status copy_d2d(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream) {
  auto op = on_stream<ops::CopyD2d>(stream.id);
  op.destination = destination;
  op.source = source;
  op.bytes = count;
  return submitted(*stream.session, stream.session->submit(op));
}

/// Returns the stream if it belongs to the session, else the session's default stream.
StreamRef stream_in(Session* session, const StreamRef& stream) {
  return stream.session == session ? stream : StreamRef{session, 0, device_of(session)};
}

/// Copies between two GPUs: waits for the stream, copies out and in, and waits again, so that an event of
/// either GPU recorded afterwards covers the copy.
Status copy_peer(const Place& to, const Place& from, uint64_t count, const StreamRef& stream) {
  if (const Status status = synchronize(stream)) return status;
  const StreamRef out = stream_in(from.session, stream), in = stream_in(to.session, stream);
  auto staging = std::make_unique<std::byte[]>(std::min(kPiece, count));
  for (uint64_t done = 0; done < count;) {
    const HostRange piece{reinterpret_cast<uint64_t>(staging.get()), std::min(kPiece, count - done)};
    if (const Status status = copy_d2h(piece, from.address + done, out, true)) return status;
    if (const Status status = copy_h2d(to.address + done, piece, in, false)) return status;
    done += piece.bytes;
  }
  return synchronize(in);
}

Status copy_on_devices(const Place& to, const Place& from, uint64_t count, const StreamRef& stream) {
  if (to.session != from.session) return copy_peer(to, from, count, stream);
  return give_beside_memory(to.session, stream, [&](const StreamRef& where) {
    return copy_d2d(to.address, from.address, count, where);
  });
}

/// Copies host to host, in stream order too.
Status copy_on_host(const Place& to, const Place& from, uint64_t count, const StreamRef& stream) {
  if (const Status status = synchronize(stream)) return status;
  std::memmove(reinterpret_cast<void*>(to.address), reinterpret_cast<const void*>(from.address), count);
  return kSuccess;
}

/// Refuses host copies in a graph: it would have to repeat them, but host bytes are sent with the call.
Status refuse_host_copy(Session* session, const StreamRef& stream, const HostRange& host) {
  return refuse_in_capture(stream_in(session, stream),
                           host.pinned ? "a copy to or from pinned memory would have to be made at every "
                                         "launch: copy before and after the graph"
                                       : "pageable memory cannot be copied to or from: copy before and after "
                                         "the graph");
}

Status copy_between(const Place& to, const Place& from, const StreamRef& stream, bool wait) {
  Session* const session = to.on_device() ? to.session : from.session;
  const HostRange& host = to.on_device() ? from.host : to.host;
  if (const Status status = refuse_host_copy(session, stream, host)) return status;
  return give_beside_memory(session, stream, [&](const StreamRef& where) {
    if (to.on_device()) return copy_h2d(to.address, host, where, wait);
    return copy_d2h(host, from.address, where, wait || where.session != stream.session || !host.pinned);
  });
}

template <class Copy>
Status copy_inside(const Copy& wanted, Session* owner, const StreamRef& stream) {
  return give_beside_memory(owner, stream, [&](const StreamRef& where) {
    auto op = wanted;
    op.header.stream = where.id;
    return submitted(*owner, owner->submit(op));
  });
}

/// Returns the bytes from the first row's first to the last row's last.
uint64_t span_of(size_t pitch, size_t width, size_t height) { return pitch * (height - 1) + width; }

Status copy_rows(uint64_t dst, size_t dst_pitch, uint64_t src, size_t src_pitch, size_t width, size_t height,
                 const StreamRef& stream, bool wait) {
  if (width > dst_pitch || width > src_pitch) return kInvalidPitchValue;
  if (!width || !height) return kSuccess;
  if (dst_pitch == width && src_pitch == width) return copy(dst, src, width * height, stream, wait);
  const Place to = place_of(dst, span_of(dst_pitch, width, height));
  const Place from = place_of(src, span_of(src_pitch, width, height));
  const bool to_device = to.on_device() && to.whole;
  if (to_device && from.whole && to.session == from.session) {
    ops::Copy2d op;
    op.destination = dst;
    op.destination_pitch = dst_pitch;
    op.source = src;
    op.source_pitch = src_pitch;
    op.width = width;
    op.height = height;
    return copy_inside(op, to.session, stream);
  }
  // To the device: from pageable memory the first row waits for earlier work, from pinned memory the last one
  // for all rows.
  const size_t waiting = to_device && host_range(src, width).pinned ? height - 1 : 0;
  Status status = kSuccess;
  for (size_t row = 0; row < height && !status; ++row)
    status = copy(dst + row * dst_pitch, src + row * src_pitch, width, stream,
                  wait && (!to_device || row == waiting));
  return status;
}

bool bad_kind(int32_t kind) {
  constexpr int32_t kHostToHost = 0, kByAddress = 4;  // cudaMemcpyKind, the first and the last
  return kind < kHostToHost || kind > kByAddress;
}

/// One side of a copy of slices.
struct Slices {
  uint64_t address, pitch, slice;
  bool fits;

  Slices(const PitchedPointer& memory, const size_t (&at)[3], const CopyParameters3d& copy)
      : address(reinterpret_cast<uint64_t>(memory.address) + at[2] * memory.pitch * memory.height +
                at[1] * memory.pitch + at[0]),
        pitch(memory.pitch),
        slice(memory.pitch * memory.height),
        fits(copy.depth < 2 || at[1] + copy.height <= memory.height) {}
  Place place(const CopyParameters3d& copy) const {
    return place_of(address, slice * (copy.depth - 1) + span_of(pitch, copy.width, copy.height));
  }
};

Status copy_slices(const CopyParameters3d& copy, const StreamRef& stream, bool wait) {
  if (bad_kind(copy.kind)) return kInvalidMemcpyDirection;
  if (copy.source_array || copy.destination_array)
    return refuse_cudart("cudaMemcpy3D", "arrays are not supported: use linear memory");
  const Slices to(copy.destination, copy.destination_at, copy), from(copy.source, copy.source_at, copy);
  if (!copy.width || !copy.height || !copy.depth) return kSuccess;
  if (!to.fits || !from.fits) return kInvalidValue;
  if (copy.depth == 1 || (to.slice == to.pitch * copy.height && from.slice == from.pitch * copy.height))
    return copy_rows(to.address, to.pitch, from.address, from.pitch, copy.width, copy.height * copy.depth,
                     stream, wait);
  if (copy.width > to.pitch || copy.width > from.pitch) return kInvalidPitchValue;
  const Place there = to.place(copy), here = from.place(copy);
  if (!there.whole || !here.whole) return kInvalidValue;
  if (there.on_device() && here.on_device() && there.session == here.session) {
    ops::Copy3d op{{},         to.address, to.pitch,   to.slice,    from.address,
                   from.pitch, from.slice, copy.width, copy.height, copy.depth};
    return copy_inside(op, there.session, stream);
  }
  Status status = kSuccess;
  for (size_t slice = 0; slice < copy.depth && !status; ++slice)
    status = copy_rows(to.address + slice * to.slice, to.pitch, from.address + slice * from.slice, from.pitch,
                       copy.width, copy.height, stream, wait);
  return status;
}

Status copy_on(uint64_t destination, uint64_t source, uint64_t count, uint64_t stream, bool wait) {
  StreamRef ref;
  const Status status = resolve_stream(stream, &ref);
  return status ? status : copy(destination, source, count, ref, wait);
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

Status copy(uint64_t destination, uint64_t source, uint64_t count, const StreamRef& stream, bool wait) {
  if (!count) return kSuccess;
  if (!destination || !source) return kInvalidValue;
  const Place to = place_of(destination, count), from = place_of(source, count);
  if (!to.whole || !from.whole) return kInvalidValue;
  if (to.on_device() && from.on_device()) return copy_on_devices(to, from, count, stream);
  if (to.on_device() || from.on_device()) return copy_between(to, from, stream, wait);
  return copy_on_host(to, from, count, stream);
}

int32_t cudaMemcpy(void* dst, const void* src, size_t count, int32_t kind) {
  if (bad_kind(kind)) return kInvalidMemcpyDirection;
  return copy_on(address(dst), address(src), count, 0, true);
}
int32_t cudaMemcpyAsync(void* dst, const void* src, size_t count, int32_t kind, uint64_t stream) {
  if (bad_kind(kind)) return kInvalidMemcpyDirection;
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
  if (bad_kind(kind)) return kInvalidMemcpyDirection;
  const Status status = resolve_stream(stream, &ref);
  return status ? status
                : copy_rows(address(dst), dst_pitch, address(src), src_pitch, width, height, ref, false);
}
int32_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                     size_t height, int32_t kind) {
  StreamRef ref;
  if (bad_kind(kind)) return kInvalidMemcpyDirection;
  const Status status = resolve_stream(0, &ref);
  return status ? status
                : copy_rows(address(dst), dst_pitch, address(src), src_pitch, width, height, ref, true);
}

int32_t cudaMemcpy3D(const CopyParameters3d* parameters) {
  StreamRef ref;
  if (!parameters) return kInvalidValue;
  const Status status = resolve_stream(0, &ref);
  return status ? status : copy_slices(*parameters, ref, true);
}
int32_t cudaMemcpy3DAsync(const CopyParameters3d* parameters, uint64_t stream) {
  StreamRef ref;
  if (!parameters) return kInvalidValue;
  const Status status = resolve_stream(stream, &ref);
  return status ? status : copy_slices(*parameters, ref, false);
}

}  // namespace jitc::api
