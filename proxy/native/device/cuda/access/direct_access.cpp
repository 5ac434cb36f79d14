// See direct_access.h.
#include "direct_access.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/content_hash.h"
#include "device/cuda/driver/error.h"
#include "device/poison.h"

namespace jitc::cuda {

template <class Work>
bool DirectAccess::tried(Work&& work) {
  try {
    const device::Residency::Use use(residency_);
    check(context_->driver(), "cuCtxSetCurrent", context_->bind());
    work();
    return true;
  } catch (const OpError& error) {
    state_.fault(0, error.status, error.cause, error.message);
  } catch (const device::Abandoned&) {
  }
  return false;
}

bool DirectAccess::read(uint64_t address, std::span<std::byte> out) {
  if (!memory_.contains(address, out.size())) return false;
  return tried([&] {
    size_t at = 0;
    transfer_.read(memory_.real(address), out.size(), [&](std::span<const std::byte> part) {
      std::memcpy(out.data() + at, part.data(), part.size());
      at += part.size();
    });
  });
}

bool DirectAccess::read_hashed(uint64_t address, std::span<std::byte> out, Hash& hash) {
  if (!memory_.contains(address, out.size())) return false;
  return tried([&] {
    ContentHasher hasher;
    size_t at = 0;
    transfer_.read(memory_.real(address), out.size(), [&](std::span<const std::byte> part) {
      const auto piece = out.subspan(at, part.size());
      std::memcpy(piece.data(), part.data(), part.size());
      hasher.add(piece);
      at += part.size();
    });
    hash = hasher.finish();
  });
}

bool DirectAccess::write(uint64_t address, std::span<const std::byte> data) {
  return memory_.contains(address, data.size()) &&
         tried([&] { transfer_.write(memory_.real(address), data); });
}

void DirectAccess::hash_all(std::span<const MemoryRange> ranges, std::span<Hash> out) {
  std::vector<size_t> places;
  std::vector<MemoryRange> there;
  for (size_t i = 0; i < ranges.size(); ++i) {
    out[i] = kNoHash;
    if (!ranges[i].bytes || !memory_.contains(ranges[i].address, ranges[i].bytes)) continue;
    places.push_back(i);
    there.push_back({memory_.real(ranges[i].address), ranges[i].bytes});
  }
  std::vector<Hash> hashes(there.size());
  const bool done = tried([&] {
    if (hasher_.hash(there, hashes)) return;
    std::ranges::transform(there, hashes.begin(), [&](const auto& range) { return transfer_.hash(range); });
  });
  for (size_t i = 0; done && i < places.size(); ++i) out[places[i]] = hashes[i];
}

void DirectAccess::poison_all(std::span<const MemoryRange> ranges, DeviceMemory& device) {
  std::vector<MemoryRange> there;
  for (const MemoryRange& range : ranges)
    if (range.bytes && memory_.contains(range.address, range.bytes)) there.push_back(range);
  tried([&] {
    if (!hasher_.poison(real(memory_, there))) poison_by_writing(device, there);
  });
}

}  // namespace jitc::cuda
