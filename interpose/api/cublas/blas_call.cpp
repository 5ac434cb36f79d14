// See blas_call.h.
#include "blas_call.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "api/memory/copy.h"
#include "api/memory/memory.h"
#include "session/message.h"

namespace jitc::api {
namespace {

/// Device memory for results on their way to the host. Each call takes the next cell, in a ring.
struct Cells {
  static constexpr uint64_t kBytes = 16, kCount = 4096;
  std::mutex mutex;
  std::unordered_map<const Session*, uint64_t> by_session;
  std::atomic<uint64_t> turn{0};
};
Cells& cells() {
  static auto& out = *new Cells;
  return out;
}

uint64_t known_cells(const Session* session) {
  const std::lock_guard lock(cells().mutex);
  const auto found = cells().by_session.find(session);
  return found == cells().by_session.end() ? 0 : found->second;
}

/// Returns the address of a cell; 0: no memory. Two threads that come first may both allocate; one block is
/// freed.
uint64_t take_cell(Session& session) {
  uint64_t base = known_cells(&session);
  if (!base) {
    uint64_t made = 0;
    if (allocate(session, Cells::kBytes * Cells::kCount, &made)) return 0;
    {
      const std::lock_guard lock(cells().mutex);
      base = cells().by_session.try_emplace(&session, made).first->second;
    }
    if (base != made) release(made, {});
  }
  return base + cells().turn++ % Cells::kCount * Cells::kBytes;
}

}  // namespace

BlasCall::BlasCall(uint64_t handle, const char* name, uint32_t function)
    : name_(name), handle_(handle), function_(function) {
  slots_.reserve(sizeof(ops::CallHead) + forward::kMostSlots * sizeof(ops::CallSlot));
  status_ = blas_stream(handle, &blas_, &stream_);
  if (!status_ && (!blas_.session || blas_.session != stream_.session)) status_ = kBlasInvalidValue;
}

BlasCall& BlasCall::count(int32_t value) { return value < 0 ? fail(kBlasInvalidValue) : number(value); }

BlasCall& BlasCall::increment(int32_t value) { return value ? number(value) : fail(kBlasInvalidValue); }

BlasCall& BlasCall::leading(int32_t value, int32_t rows) {
  return value < std::max(rows, 1) ? fail(kBlasInvalidValue) : number(value);
}

BlasCall& BlasCall::scalar(const void* at, uint32_t bytes) {
  if (!at) return fail(kBlasInvalidValue);
  if (blas_.pointer_mode == kScalarsOnDevice) return address(reinterpret_cast<uint64_t>(at));
  if (!bytes) return fail(kBlasNotSupported);
  // A device address in host mode is a mistake that would end the process.
  if (on_device(at)) return fail(kBlasInvalidValue);
  if (!status_) slots_.scalar(at, bytes);
  return *this;
}

BlasCall& BlasCall::result(void* at, uint32_t bytes) {
  if (!at) return fail(kBlasInvalidValue);
  if (blas_.pointer_mode == kScalarsOnDevice) return address(reinterpret_cast<uint64_t>(at));
  if (!bytes) return fail(kBlasNotSupported);
  if (on_device(at)) return fail(kBlasInvalidValue);
  host_ = at;
  host_bytes_ = bytes;
  if (!status_ && !(scratch_ = take_cell(*stream_.session))) return fail(kBlasAllocFailed);
  return address(scratch_);
}

BlasCall& BlasCall::info(int32_t* at) {
  if (!at) return fail(kBlasInvalidValue);
  if (!status_) *at = 0;
  return *this;
}

Status BlasCall::submit() {
  if (status_ == kBlasNotSupported) session::message_once(std::string(name_) + ": unknown type of a scalar");
  if (status_) return status_;
  if (blas_.workspace != blas_.sent)
    if (const Status status = send_workspace(handle_)) return status;
  auto op = on_stream<ops::LibraryCall>(stream_.id);
  op.handle = handle_;
  slots_.name(function_);
  op.bytes = slots_.bytes().size();
  if (!stream_.session->submit(op, slots_.bytes())) return kBlasExecutionFailed;
  if (!host_) return kSuccess;
  const auto to = reinterpret_cast<uint64_t>(host_);
  return copy(to, scratch_, host_bytes_, stream_, true) ? kBlasExecutionFailed : kSuccess;
}

}  // namespace jitc::api
