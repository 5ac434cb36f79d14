// See copy_handlers.h.
#include "copy_handlers.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "device/common/operands.h"

namespace jitc::cuda {
namespace {
static_assert(device::kLargestResult <= PinnedPool::kLargest);

void refuse_capture(const Stream& stream, const std::string& what) {
  if (stream.diverted())  // cudaErrorStreamCaptureUnsupported
    refuse(900, "capture-unsupported", what + " cannot be captured");
}
}  // namespace

/// Copies through pinned memory: the record is pageable, and the driver would copy it on its own terms.
void CopyHandlers::h2d(const ops::CopyH2d& op) {
  Stream& stream = issuer_.stream_of(op.header);
  const auto payload = payload_of(op);
  if (op.bytes > payload.size()) refuse_value("the payload is shorter than the copy");
  const uint64_t to = issuer_.require("destination", op.address, op.bytes);
  refuse_capture(stream, "a copy from the host");
  std::vector<Pinned> pieces;
  for (uint64_t at = 0; at < op.bytes;) {
    const size_t size = std::min<uint64_t>(PinnedPool::kLargest, op.bytes - at);
    Pinned piece = issuer_.staging(size);
    std::memcpy(piece.data(), payload.data() + at, size);
    issuer_.check("cuMemcpyHtoDAsync",
                  issuer_.driver().cuMemcpyHtoDAsync(to + at, piece.data(), size, stream.real()));
    pieces.push_back(std::move(piece));
    at += size;
  }
  issuer_.submitted(stream, op.header);
  for (Pinned& piece : pieces) poller_.keep(stream.timeline(), std::move(piece));
  issuer_.sink().injection_point(op.header, "copy");
}

void CopyHandlers::d2h(const ops::CopyD2h& op) {
  Stream& stream = issuer_.stream_of(op.header);
  check_result_bytes(op.bytes);
  const uint64_t from = issuer_.require("source", op.address, op.bytes);
  refuse_capture(stream, "a copy to the host");
  Pinned landing = issuer_.staging(op.bytes);
  if (op.bytes)
    issuer_.check("cuMemcpyDtoHAsync",
                  issuer_.driver().cuMemcpyDtoHAsync(landing.data(), from, op.bytes, stream.real()));
  issuer_.submitted_with_result(stream, op.header, std::move(landing), op.bytes);
  issuer_.sink().injection_point(op.header, "copy");
}

/// Copies straight into the program's memory; data that the program has already is only read again and
/// compared.
void CopyHandlers::d2h_pinned(const ops::CopyD2hPinned& op) {
  Stream& stream = issuer_.stream_of(op.header);
  check_result_bytes(op.bytes);
  const uint64_t from = issuer_.require("source", op.address, op.bytes);
  std::byte* target = pinned_.find(op.destination, op.bytes);
  if (!target) refuse_value("the destination is not pinned memory of this session");
  refuse_capture(stream, "a copy to the host");
  Pinned landing;
  if (issuer_.sink().delivered(op.header.sequence)) {
    landing = issuer_.staging(op.bytes);
    target = landing.data();
  }
  if (op.bytes)
    issuer_.check("cuMemcpyDtoHAsync",
                  issuer_.driver().cuMemcpyDtoHAsync(target, from, op.bytes, stream.real()));
  issuer_.submitted(stream, op.header);
  const auto answer_with_hash = [&sink = issuer_.sink(), target, bytes = op.bytes,
                                 sequence = op.header.sequence] {
    const auto hash = hash_bytes({target, bytes});
    sink.result(sequence, kSuccess, std::as_bytes(std::span(hash)));
  };
  poller_.after(stream.timeline(), {op.header.sequence, 0, std::move(landing), answer_with_hash});
  issuer_.sink().injection_point(op.header, "copy");
}

void CopyHandlers::d2d(const ops::CopyD2d& op) {
  Stream& stream = issuer_.stream_of(op.header);
  const uint64_t to = issuer_.require("destination", op.destination, op.bytes);
  const uint64_t from = issuer_.require("source", op.source, op.bytes);
  if (op.bytes)
    issuer_.check("cuMemcpyDtoDAsync", issuer_.driver().cuMemcpyDtoDAsync(to, from, op.bytes, stream.real()));
  issuer_.submitted(stream, op.header);
  issuer_.sink().injection_point(op.header, "copy");
}

void CopyHandlers::pitched(const ops::Copy2d& op) {
  Stream& stream = issuer_.stream_of(op.header);
  if (op.width && op.height) {
    const uint64_t to =
        issuer_.require("destination", op.destination,
                        pitched_bytes("destination", op.destination_pitch, op.width, op.height));
    const uint64_t from =
        issuer_.require("source", op.source, pitched_bytes("source", op.source_pitch, op.width, op.height));
    copy_rows(to, from, op, stream);
  }
  issuer_.submitted(stream, op.header);
  issuer_.sink().injection_point(op.header, "copy");
}

/// Copies the slices one after the other: the driver's own copy of slices takes a whole number of rows from
/// slice to slice, which a program's need not have.
void CopyHandlers::sliced(const ops::Copy3d& op) {
  Stream& stream = issuer_.stream_of(op.header);
  if (op.width && op.height && op.depth) {
    const uint64_t to =
        issuer_.require("destination", op.destination,
                        sliced_bytes("destination", op.destination_slice, op.destination_pitch, op));
    const uint64_t from =
        issuer_.require("source", op.source, sliced_bytes("source", op.source_slice, op.source_pitch, op));
    for (uint64_t slice = 0; slice < op.depth; ++slice)
      copy_rows(to + slice * op.destination_slice, from + slice * op.source_slice, op, stream);
  }
  issuer_.submitted(stream, op.header);
  issuer_.sink().injection_point(op.header, "copy");
}

template <class Copy>
void CopyHandlers::copy_rows(uint64_t to, uint64_t from, const Copy& op, const Stream& stream) {
  abi::CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = abi::kMemoryTypeDevice;
  rows.srcDevice = from;
  rows.srcPitch = op.source_pitch;
  rows.dstDevice = to;
  rows.dstPitch = op.destination_pitch;
  rows.WidthInBytes = op.width;
  rows.Height = op.height;
  issuer_.check("cuMemcpy2DAsync", issuer_.driver().cuMemcpy2DAsync(&rows, stream.real()));
}

void CopyHandlers::fill(const ops::Fill& op) {
  const Driver& driver = issuer_.driver();
  Stream& stream = issuer_.stream_of(op.header);
  const uint32_t width = op.width;
  check_fill(op);
  const uint64_t to = issuer_.require("destination", op.address, op.bytes);
  if (op.bytes && width == 1)
    issuer_.check("cuMemsetD8Async",
                  driver.cuMemsetD8Async(to, static_cast<uint8_t>(op.value), op.bytes, stream.real()));
  else if (op.bytes && width == 2)
    issuer_.check("cuMemsetD16Async",
                  driver.cuMemsetD16Async(to, static_cast<uint16_t>(op.value), op.bytes / 2, stream.real()));
  else if (op.bytes)
    issuer_.check("cuMemsetD32Async", driver.cuMemsetD32Async(to, op.value, op.bytes / 4, stream.real()));
  issuer_.submitted(stream, op.header);
}

}  // namespace jitc::cuda
