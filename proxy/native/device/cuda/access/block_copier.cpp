// See block_copier.h.
#include "block_copier.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/parallel.h"
#include "device/cuda/driver/diagnosis.h"
#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
/// Threads that request memory from the system: more would get in each other's way.
constexpr unsigned kThreadsForMemory = 8;
constexpr int kPopulateForWriting = 23;  // MADV_POPULATE_WRITE, since Linux 5.14; glibc has it since 2.35
}  // namespace

RegisteredCopies::~RegisteredCopies() {
  context_->bind();
  forget(arena_);
  for (abi::CUstream one : {stream_, beside_})
    if (one) context_->driver().cuStreamDestroy(one);
}

bool RegisteredCopies::copy(std::span<const BlockCopy> blocks) {
  return given(blocks, stream_, Way::to_host, true);
}

bool RegisteredCopies::put_back(std::span<const BlockCopy> blocks) {
  return given(blocks, stream_, Way::to_device, true);
}

bool RegisteredCopies::begin(std::span<const BlockCopy> blocks) {
  return given(blocks, beside_, Way::to_host, false);
}

bool RegisteredCopies::given(std::span<const BlockCopy> blocks, abi::CUstream& stream, Way way, bool waits) {
  const auto there = [this](const BlockCopy& one) { return memory_.contains(one.address, one.copy.size()); };
  if (!std::ranges::all_of(blocks, there)) return false;
  const Driver& driver = context_->driver();
  try {
    const device::Residency::Use use(residency_);
    const std::lock_guard lock(mutex_);
    given_up_ = asked_for(kPlainCopies);
    check(driver, "cuCtxSetCurrent", context_->bind());
    // 0 is the lowest priority.
    if (!stream)
      check(driver, "cuStreamCreateWithPriority",
            driver.cuStreamCreateWithPriority(&stream, abi::kStreamNonBlocking, 0));
    if (!given_up_) ask_for_memory(blocks);
    for (const BlockCopy& block : blocks) start(block, stream, way);
    if (waits) check(driver, "cuStreamSynchronize", driver.cuStreamSynchronize(stream));
    return true;
  } catch (const OpError& error) {
    if (stream) driver.cuStreamSynchronize(stream);  // no later write may occur
    state_.fault(0, error.status, error.cause, error.message);
  } catch (const device::Abandoned&) {
  }
  return false;
}

bool RegisteredCopies::under_way() {
  const auto all = streams();
  return std::ranges::any_of(all,
                             [this](auto one) { return context_->driver().cuStreamQuery(one) == kNotReady; });
}

std::vector<abi::CUstream> RegisteredCopies::streams() {
  const std::lock_guard lock(mutex_);
  return beside_ ? std::vector{beside_} : std::vector<abi::CUstream>{};
}

bool RegisteredCopies::finish() {
  const Driver& driver = context_->driver();
  try {
    check(driver, "cuCtxSetCurrent", context_->bind());
    for (const abi::CUstream one : streams())
      check(driver, "cuStreamSynchronize", driver.cuStreamSynchronize(one));
    return true;
  } catch (const OpError& error) {
    state_.fault(0, error.status, error.cause, error.message);
    return false;
  }
}

/// Calls work(number, piece) for the part of the copy in each window that it touches: a driver call must not
/// cross the end of one registration.
template <class Work>
void RegisteredCopies::by_window(std::span<std::byte> copy, const Work& work) const {
  while (!copy.empty()) {
    const size_t number = static_cast<size_t>(copy.data() - arena_.data()) / kWindow;
    const auto room = static_cast<size_t>(std::to_address(window(number).end()) - copy.data());
    const auto piece = copy.first(std::min(copy.size(), room));
    work(number, piece);
    copy = copy.subspan(piece.size());
  }
}

/// Makes the pages, which the driver would make one after another. If the system cannot, or has no room, or a
/// copy does not begin with a page (those of a Snapshot do), the driver still does.
void RegisteredCopies::ask_for_memory(std::span<const BlockCopy> blocks) {
  std::vector<std::span<std::byte>> pieces;
  uint64_t bytes = 0;
  for (const BlockCopy& block : blocks)
    by_window(block.copy, [&](size_t number, std::span<std::byte> piece) {
      if (windows_.contains(number)) return;
      pieces.push_back(piece);
      bytes += piece.size();
    });
  const int threads = static_cast<int>(std::min(std::thread::hardware_concurrency(), kThreadsForMemory));
  in_parallel(threads, pieces.size(), bytes,
              [&](size_t one) { madvise(pieces[one].data(), pieces[one].size(), kPopulateForWriting); });
}

void RegisteredCopies::start(const BlockCopy& block, abi::CUstream stream, Way way) {
  uint64_t address = memory_.real(block.address);
  by_window(block.copy, [&](size_t number, std::span<std::byte> piece) {
    if (is_registered(number))
      start_piece({address, piece}, stream, way);
    else
      copy_by_detour({address, piece}, way);
    address += piece.size();
  });
}

void RegisteredCopies::start_piece(const BlockCopy& piece, abi::CUstream stream, Way way) {
  const Driver& driver = context_->driver();
  const auto [address, copy] = piece;
  if (way == Way::to_host)
    check(driver, "cuMemcpyDtoHAsync", driver.cuMemcpyDtoHAsync(copy.data(), address, copy.size(), stream));
  else
    check(driver, "cuMemcpyHtoDAsync", driver.cuMemcpyHtoDAsync(address, copy.data(), copy.size(), stream));
}

bool RegisteredCopies::is_registered(size_t number) {
  if (windows_.contains(number)) return true;
  if (given_up_) return false;
  const auto memory = window(number);
  given_up_ = context_->driver().cuMemHostRegister(memory.data(), memory.size(), abi::kHostPortable) != 0;
  if (!given_up_) windows_.insert(number);
  return !given_up_;
}

std::span<std::byte> RegisteredCopies::window(size_t number) const {
  return arena_.subspan(number * kWindow, std::min(kWindow, arena_.size() - number * kWindow));
}

void RegisteredCopies::copy_by_detour(const BlockCopy& block, Way way) {
  if (way == Way::to_device) return detour_.write(block.address, block.copy);
  std::byte* into = block.copy.data();
  detour_.read(block.address, block.copy.size(), [&](std::span<const std::byte> part) {
    std::memcpy(into, part.data(), part.size());
    into += part.size();
  });
}

void RegisteredCopies::forget(std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  if (memory.empty() || windows_.empty()) return;
  context_->bind();
  if (beside_) context_->driver().cuStreamSynchronize(beside_);  // into other parts of the same windows
  const size_t first = static_cast<size_t>(memory.data() - arena_.data());
  const size_t last = (first + memory.size() - 1) / kWindow;
  for (auto each = windows_.lower_bound(first / kWindow); each != windows_.end() && *each <= last;) {
    context_->driver().cuMemHostUnregister(window(*each).data());
    each = windows_.erase(each);
  }
}

}  // namespace jitc::cuda
