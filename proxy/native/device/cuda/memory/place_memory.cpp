// Placing of memory ops. See device.h. Sizes come from the client: each product and sum is checked before it
// is used, each range before the driver sees it.
#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "device/cuda/device/device.h"
#include "device/cuda/device/place.h"

namespace jitc::cuda {
namespace {
constexpr uint64_t kLargestResult = PinnedPool::kLargest;

}  // namespace

/// What was freed is held back for a roll-back; the program needs it more. A roll-back finds another content
/// then, and takes it from a copy or a peer.
uint32_t Device::with_room(uint64_t bytes, const std::function<uint32_t()>& take) {
  uint32_t status = take();
  if (status != kMemoryAllocation || !memory_.fits(bytes)) return status;
  come_to_rest();
  while (status == kMemoryAllocation && memory_.shrink()) status = take();
  return status;
}

void Device::place_allocate(const ops::OpHeader& op) {
  const auto& allocate = as<ops::Allocate>(op);
  // Ops given before a free may still use the old block: its addresses can be taken only after them. Rare:
  // the client lets addresses rest, and programs synchronize before they free.
  if (memory_.overlaps_freed(allocate.address, allocate.bytes)) come_to_rest();
  const uint32_t status = with_room(
      allocate.bytes, [&] { return memory_.allocate(allocate.address, allocate.bytes, op.sequence); });
  if (status != kSuccess)
    refuse(status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
           std::to_string(allocate.bytes) + " bytes at " + hex(allocate.address) +
               (status == kMemoryAllocation ? ": out of memory" : ": not free or not in the range"));
  done_in_place(op);
  answer(op);
}

void Device::place_free(const ops::OpHeader& op) {
  const uint64_t address = as<ops::Free>(op).address;
  if (memory_.free(address) != kSuccess) refuse_value(hex(address) + " is not an allocation");
  done_in_place(op);
}

void Device::place_memory_hold(const ops::OpHeader& op) {
  const auto& hold = as<ops::MemoryHold>(op);
  const uint32_t status = with_room(hold.bytes, [&] { return memory_.hold(hold.handle, hold.bytes); });
  if (status != kSuccess)
    refuse(
        status, status == kMemoryAllocation ? "out-of-memory" : "invalid-value",
        std::to_string(hold.bytes) + " bytes" +
            (status == kMemoryAllocation ? ": out of memory" : ": not a size, or the handle exists already"));
  done_in_place(op);
  answer(op);
}

void Device::place_memory_map(const ops::OpHeader& op) {
  const auto& map = as<ops::MemoryMap>(op);
  if (memory_.overlaps_freed(map.address, memory_.held(map.handle))) come_to_rest();
  const uint32_t status = memory_.map_held(map.handle, map.address, op.sequence);
  if (status == kInvalidHandle) refuse_handle("memory " + hex(map.handle) + " is not held");
  if (status != kSuccess) refuse_value(hex(map.address) + " is not free or not in the range");
  done_in_place(op);
}

void Device::place_memory_drop(const ops::OpHeader& op) {
  const uint64_t handle = as<ops::MemoryDrop>(op).handle;
  if (memory_.drop(handle) != kSuccess) refuse_handle("memory " + hex(handle) + " is not held");
  done_in_place(op);
}

void Device::place_memory_info(const ops::OpHeader& op) {
  const uint64_t available = memory_.available(), total = memory_.total();
  done_in_place(op);
  answer(op, packed(available, total));
}

/// The record is pageable memory, which the driver would copy on its own terms: it goes through pinned
/// memory.
void Device::place_copy_h2d(const ops::OpHeader& op) {
  const auto& copy = as<ops::CopyH2d>(op);
  Stream& stream = stream_of(op);
  if (copy.bytes > op.size - sizeof copy) refuse_value("the payload is shorter than the copy");
  require("destination", copy.address, copy.bytes);
  if (stream.diverted()) refuse_capture("a copy from the host");
  const auto* const payload = reinterpret_cast<const std::byte*>(&copy + 1);
  std::vector<Pinned> pieces;
  for (uint64_t at = 0; at < copy.bytes;) {
    const size_t size = std::min<uint64_t>(PinnedPool::kLargest, copy.bytes - at);
    Pinned piece = staging(size);
    std::memcpy(piece.data(), payload + at, size);
    check("cuMemcpyHtoDAsync",
          driver().cuMemcpyHtoDAsync(copy.address + at, piece.data(), size, stream.real()));
    pieces.push_back(std::move(piece));
    at += size;
  }
  submitted(stream, op);
  for (Pinned& piece : pieces) completer_->keep(stream.track(), std::move(piece));
  sink_.injection_point(op, "copy");
}

void Device::place_copy_d2h(const ops::OpHeader& op) {
  const auto& copy = as<ops::CopyD2h>(op);
  Stream& stream = stream_of(op);
  if (copy.bytes > kLargestResult) refuse_value("more than 1 MiB in one copy to the host");
  require("source", copy.address, copy.bytes);
  if (stream.diverted()) refuse_capture("a copy to the host");
  Pinned landing = staging(copy.bytes);
  if (copy.bytes)
    check("cuMemcpyDtoHAsync",
          driver().cuMemcpyDtoHAsync(landing.data(), copy.address, copy.bytes, stream.real()));
  submitted_with_result(stream, op, std::move(landing), copy.bytes);
  sink_.injection_point(op, "copy");
}

/// Straight into the program's memory; what the program has already is only read again and compared.
void Device::place_copy_d2h_pinned(const ops::OpHeader& op) {
  const auto& copy = as<ops::CopyD2hPinned>(op);
  Stream& stream = stream_of(op);
  if (copy.bytes > kLargestResult) refuse_value("more than 1 MiB in one copy to the host");
  require("source", copy.address, copy.bytes);
  std::byte* target = options_.pinned.find(copy.destination, copy.bytes);
  if (!target) refuse_value("the destination is not pinned memory of this session");
  if (stream.diverted()) refuse_capture("a copy to the host");
  Pinned landing;
  if (sink_.delivered(op.sequence)) {
    landing = staging(copy.bytes);
    target = landing.data();
  }
  if (copy.bytes)
    check("cuMemcpyDtoHAsync", driver().cuMemcpyDtoHAsync(target, copy.address, copy.bytes, stream.real()));
  submitted(stream, op);
  const auto answer_with_hash = [this, target, bytes = copy.bytes, sequence = op.sequence] {
    const auto hash = hash_bytes({target, bytes});
    sink_.result(sequence, kSuccess, std::as_bytes(std::span(hash)));
  };
  completer_->after(stream.track(), {0, 0, std::move(landing), answer_with_hash});
  sink_.injection_point(op, "copy");
}

void Device::place_host_register(const ops::OpHeader& op) {
  const auto& range = as<ops::HostRegister>(op);
  host_ranges_->add(range.address, range.bytes);
  done_in_place(op);
  answer(op);
}

/// As with CUDA itself: memory that work may use is given back after that work. Rare: programs keep it.
void Device::place_host_unregister(const ops::OpHeader& op) {
  come_to_rest();
  host_ranges_->remove(as<ops::HostUnregister>(op).address);
  done_in_place(op);
  answer(op);
}

void Device::place_copy_d2d(const ops::OpHeader& op) {
  const auto& copy = as<ops::CopyD2d>(op);
  Stream& stream = stream_of(op);
  require("destination", copy.destination, copy.bytes);
  require("source", copy.source, copy.bytes);
  if (copy.bytes)
    check("cuMemcpyDtoDAsync",
          driver().cuMemcpyDtoDAsync(copy.destination, copy.source, copy.bytes, stream.real()));
  submitted(stream, op);
  sink_.injection_point(op, "copy");
}

void Device::place_copy_2d(const ops::OpHeader& op) {
  const auto& copy = as<ops::Copy2d>(op);
  Stream& stream = stream_of(op);
  if (copy.width && copy.height) {
    require("destination", copy.destination,
            pitched_bytes("destination", copy.destination_pitch, copy.width, copy.height));
    require("source", copy.source, pitched_bytes("source", copy.source_pitch, copy.width, copy.height));
    abi::CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = rows.dstMemoryType = abi::kMemoryTypeDevice;
    rows.srcDevice = copy.source;
    rows.srcPitch = copy.source_pitch;
    rows.dstDevice = copy.destination;
    rows.dstPitch = copy.destination_pitch;
    rows.WidthInBytes = copy.width;
    rows.Height = copy.height;
    check("cuMemcpy2DAsync", driver().cuMemcpy2DAsync(&rows, stream.real()));
  }
  submitted(stream, op);
  sink_.injection_point(op, "copy");
}

void Device::place_fill(const ops::OpHeader& op) {
  const auto& fill = as<ops::Fill>(op);
  Stream& stream = stream_of(op);
  const uint32_t width = fill.width;
  if ((width != 1 && width != 2 && width != 4) || fill.bytes % width != 0 || fill.address % width != 0)
    refuse_value("the fill's address and size are not multiples of its width 1, 2 or 4");
  require("destination", fill.address, fill.bytes);
  if (fill.bytes && width == 1)
    check("cuMemsetD8Async", driver().cuMemsetD8Async(fill.address, static_cast<uint8_t>(fill.value),
                                                      fill.bytes, stream.real()));
  else if (fill.bytes && width == 2)
    check("cuMemsetD16Async", driver().cuMemsetD16Async(fill.address, static_cast<uint16_t>(fill.value),
                                                        fill.bytes / 2, stream.real()));
  else if (fill.bytes)
    check("cuMemsetD32Async",
          driver().cuMemsetD32Async(fill.address, fill.value, fill.bytes / 4, stream.real()));
  submitted(stream, op);
}

}  // namespace jitc::cuda
