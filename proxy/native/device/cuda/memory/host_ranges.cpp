// See host_ranges.h.
#include "host_ranges.h"

#include "device/cuda/driver/error.h"

namespace jitc::cuda {
namespace {
constexpr uint64_t kPage = 4096;
}

HostRanges::~HostRanges() {
  context_->bind();
  for (const auto& [address, bytes] : ranges_) give_back(address);
}

void HostRanges::give_back(uint64_t address) const {
  memory_.driver_ranges().remove(address);
  context_->driver().cuMemHostUnregister(reinterpret_cast<void*>(address));
}

/// Adds a range. Kernels use the program's address, so a range that the GPU sees elsewhere is useless.
void HostRanges::add(uint64_t address, uint64_t bytes) {
  const Driver& driver = context_->driver();
  auto* const memory = pinned_.find(address, bytes);
  if (!memory || !bytes || bytes % kPage || address % kPage)
    refuse_value(std::to_string(bytes) + " bytes at " + hex(address) + " are no pages of pinned memory");
  int32_t mode = abi::kCaptureModeRelaxed;  // must not disturb a capture in progress
  check(driver, "cuThreadExchangeStreamCaptureMode", driver.cuThreadExchangeStreamCaptureMode(&mode));
  const auto made = driver.cuMemHostRegister(memory, bytes, abi::kHostPortable | abi::kHostDeviceMap);
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  check(driver, "cuMemHostRegister", made);
  abi::CUdeviceptr seen = 0;
  const auto told = driver.cuMemHostGetDevicePointer(&seen, memory, 0);
  if (told != 0 || seen != address) {
    driver.cuMemHostUnregister(memory);
    check(driver, "cuMemHostGetDevicePointer", told);
    refuse(kNotSupported, "not-supported", "the GPU has other addresses for host memory than the host");
  }
  ranges_[address] = bytes;
  memory_.driver_ranges().add(address, bytes, address);
}

void HostRanges::remove(uint64_t address) {
  if (!ranges_.erase(address)) refuse_value(hex(address) + " is not registered");
  give_back(address);
}

void HostRanges::restore(const std::vector<Resources::HostRange>& wanted) {
  std::map<uint64_t, uint64_t> keep;
  for (const auto& one : wanted) keep[one.address] = one.bytes;
  std::erase_if(ranges_, [&](const auto& range) {
    const auto found = keep.find(range.first);
    if (found != keep.end() && found->second == range.second) return false;
    give_back(range.first);
    return true;
  });
  for (const auto& [address, bytes] : keep)
    if (!ranges_.contains(address)) add(address, bytes);
}

}  // namespace jitc::cuda
