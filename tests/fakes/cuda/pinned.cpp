// Pinned host memory, and where the content of an address lies. See memory.h.
#include <sys/mman.h>

#include <cstdlib>

#include "functions.h"
#include "memory.h"

namespace jitc::fakes {
namespace {
template <class Map>
bool inside(const Map& ranges, const std::byte* address, size_t size) {
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin()) return false;
  const auto& [start, range] = *std::prev(after);
  const size_t offset = static_cast<size_t>(address - start);
  return offset <= range.size && size <= range.size - offset;
}
}  // namespace

void* Memory::allocate_host(size_t size) {
  if (!size) throw Failure{kInvalidValue};
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw Failure{kOutOfMemory};
  const std::unique_lock lock(content_);
  pinned_[static_cast<std::byte*>(address)] = {size, true};
  return address;
}

void Memory::free_host(void* address) {
  const std::unique_lock lock(content_);
  const auto found = pinned_.find(static_cast<std::byte*>(address));
  if (found == pinned_.end() || !found->second.ours) throw Failure{kInvalidValue};
  ::munmap(address, found->second.size);
  pinned_.erase(found);
}

void Memory::register_host(void* address, size_t size) {
  auto* const start = static_cast<std::byte*>(address);
  auto* const page = reinterpret_cast<void*>(reinterpret_cast<size_t>(address) & ~size_t{4095});
  if (!address || !size || ::msync(page, size, MS_ASYNC) != 0) throw Failure{kInvalidValue};
  const std::unique_lock lock(content_);
  const auto next = pinned_.lower_bound(start);
  const bool over_next = next != pinned_.end() && next->first < start + size;
  const bool over_last =
      next != pinned_.begin() && std::prev(next)->first + std::prev(next)->second.size > start;
  if (over_next || over_last) throw Failure{kAlreadyRegistered};
  pinned_[start] = {size, false};
}

void Memory::unregister_host(void* address) {
  const std::unique_lock lock(content_);
  const auto found = pinned_.find(static_cast<std::byte*>(address));
  if (found == pinned_.end() || found->second.ours) throw Failure{kNotRegistered};
  pinned_.erase(found);
}

bool Memory::pinned(const void* address, size_t size) {
  const auto lock = hold();
  return inside(pinned_, static_cast<const std::byte*>(address), size);
}

std::byte* Memory::at(CUdeviceptr address, size_t size) {
  const auto holder = holder_of(address, size);
  if (holder != reservations_.end()) {
    if (!covered(holder->second, address, size, true)) throw Failure{kIllegalAddress};
    return holder->second.shadow + (address - holder->first);
  }
  auto* const host = reinterpret_cast<std::byte*>(address);
  if (!inside(pinned_, host, size)) throw Failure{kIllegalAddress};
  return host;
}

}  // namespace jitc::fakes

void* jitc_fake_memory(unsigned long long address, size_t size) {
  auto& memory = jitc::fakes::Memory::instance();
  const auto lock = memory.hold();
  try {
    return memory.at(address, size);
  } catch (const jitc::fakes::Failure&) {
    return nullptr;
  }
}
