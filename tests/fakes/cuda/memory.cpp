// Reservations, physical memory, mappings. See memory.h; pinned host memory is in pinned.cpp.
#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "../common/devices.h"
#include "context.h"
#include "gpu_use.h"

namespace jitc::fakes {
namespace {
constexpr size_t kPage = 4096;

size_t rounded(size_t size, size_t to) { return (size + to - 1) / to * to; }

void* take(void* wanted, size_t size) {
  const int fixed = wanted ? MAP_FIXED_NOREPLACE : 0;
  void* got = ::mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  if (!wanted || got == wanted) return got;
  ::munmap(got, size);  // a kernel that does not know MAP_FIXED_NOREPLACE
  return nullptr;
}

/// Address space for `size` bytes at a multiple of `alignment`.
std::byte* take_aligned(size_t size, size_t alignment) {
  auto* start = static_cast<std::byte*>(take(nullptr, size + alignment));
  if (!start) throw Failure{kOutOfMemory};
  const size_t before = rounded(reinterpret_cast<size_t>(start), alignment) - reinterpret_cast<size_t>(start);
  if (before) ::munmap(start, before);
  ::munmap(start + before + size, alignment - before);
  return start + before;
}

/// JITC_FAKE_HINTS="FROM-TO" (in hex): wanted addresses outside of that are not given, as some drivers do.
bool heeded(CUdeviceptr wanted) {
  const char* const text = std::getenv("JITC_FAKE_HINTS");
  if (!text || !*text) return true;
  char* rest = nullptr;
  const CUdeviceptr from = std::strtoull(text, &rest, 16);
  return wanted >= from && *rest == '-' && wanted < std::strtoull(rest + 1, nullptr, 16);
}

int physical_gpu(int device) { return Driver::instance().devices.at(static_cast<size_t>(device)); }

void refuse_unless(bool good) {
  if (!good) throw Failure{kInvalidValue};
}
}  // namespace

Memory& Memory::instance() {
  static Memory* const memory = new Memory;  // never destroyed: stream threads run until the process ends
  return *memory;
}

Memory::Memory() : file_(::memfd_create("jitc-fake-gpu", MFD_CLOEXEC)) {}

size_t Memory::total() { return device_memory(); }

size_t Memory::used(int device) { return used_of_gpu(physical_gpu(device)); }

void Memory::charge(int device, size_t size) {
  if (!take_of_gpu(physical_gpu(device), size, total())) throw Failure{kOutOfMemory};
}
void Memory::credit(int device, size_t size) { give_to_gpu(physical_gpu(device), size); }

CUdeviceptr Memory::reserve(size_t size, size_t alignment, CUdeviceptr wanted) {
  refuse_unless(size && size % kGranularity == 0 && (alignment & (alignment - 1)) == 0);
  const std::unique_lock lock(content_);
  return reserve_locked(size, std::max(alignment, kGranularity), wanted);
}

/// As with CUDA, the wanted address is only a hint.
CUdeviceptr Memory::reserve_locked(size_t size, size_t alignment, CUdeviceptr wanted) {
  const bool given = wanted && wanted % alignment == 0 && heeded(wanted);
  auto* start = static_cast<std::byte*>(given ? take(reinterpret_cast<void*>(wanted), size) : nullptr);
  if (!start) start = take_aligned(size, alignment);
  auto* shadow = static_cast<std::byte*>(take(nullptr, size));
  if (!shadow) {
    ::munmap(start, size);
    throw Failure{kOutOfMemory};
  }
  const auto address = reinterpret_cast<CUdeviceptr>(start);
  reservations_[address] = {size, shadow};
  return address;
}

void Memory::give_back(CUdeviceptr address, size_t size) {
  const std::unique_lock lock(content_);
  const auto found = reservations_.find(address);
  refuse_unless(found != reservations_.end() && found->second.size == size && !found->second.linear &&
                found->second.mappings.empty());
  drop(found);
}

void Memory::drop(Reservations::iterator reservation) {
  ::munmap(reinterpret_cast<void*>(reservation->first), reservation->second.size);
  ::munmap(reservation->second.shadow, reservation->second.size);
  reservations_.erase(reservation);
}

uint64_t Memory::create(size_t size, int device, bool exported) {
  refuse_unless(size && size % kGranularity == 0);
  const std::unique_lock lock(content_);
  return create_locked(size, device, exported);
}

/// One file holds all physical memory; a place in it is used once, so that new memory reads as zero.
uint64_t Memory::create_locked(size_t size, int device, bool exported) {
  if (::ftruncate(file_, next_place_ + static_cast<off_t>(size)) != 0) throw Failure{kOutOfMemory};
  charge(device, size);
  physical_[next_handle_] = {size, device, next_place_, exported};
  next_place_ += static_cast<off_t>(size);
  return next_handle_++;
}

void Memory::release(uint64_t handle) {
  const std::unique_lock lock(content_);
  const auto found = physical_.find(handle);
  refuse_unless(found != physical_.end() && found->second.holders);
  --found->second.holders;
  drop_if_unused(found);
}

uint64_t Memory::retain(CUdeviceptr address) {
  const std::unique_lock lock(content_);
  const auto holder = holder_of(address, 1);
  refuse_unless(holder != reservations_.end() && covered(holder->second, address, 1, false));
  const uint64_t handle = std::prev(holder->second.mappings.upper_bound(address))->second.handle;
  ++physical_.at(handle).holders;
  return handle;
}

int Memory::exported(uint64_t handle) {
  const std::unique_lock lock(content_);
  const auto found = physical_.find(handle);
  refuse_unless(found != physical_.end() && found->second.holders && found->second.exported);
  return ::fcntl(file_, F_DUPFD_CLOEXEC, 0);
}

void Memory::drop_if_unused(std::map<uint64_t, Physical>::iterator physical) {
  const Physical& one = physical->second;
  if (one.holders || one.mappings) return;
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, one.place, static_cast<off_t>(one.size));
  credit(one.device, one.size);
  physical_.erase(physical);
}

void Memory::map(CUdeviceptr address, size_t size, size_t offset, uint64_t handle) {
  refuse_unless(address % kGranularity == 0 && size && size % kGranularity == 0 && offset == 0);
  const std::unique_lock lock(content_);
  map_locked(address, size, offset, handle);
}

void Memory::map_locked(CUdeviceptr address, size_t size, size_t offset, uint64_t handle) {
  const auto holder = holder_of(address, size);
  const auto found = physical_.find(handle);
  refuse_unless(holder != reservations_.end() && found != physical_.end() && found->second.holders &&
                offset + size <= found->second.size);
  auto& mappings = holder->second.mappings;
  const auto next = mappings.lower_bound(address);
  refuse_unless(next == mappings.end() || next->first >= address + size);
  refuse_unless(next == mappings.begin() || std::prev(next)->first + std::prev(next)->second.size <= address);
  void* shadow = holder->second.shadow + (address - holder->first);
  const off_t place = found->second.place + static_cast<off_t>(offset);
  if (::mmap(shadow, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, place) == MAP_FAILED)
    throw Failure{kOutOfMemory};
  mappings[address] = {size, handle, 0};
  ++found->second.mappings;
}

/// The range must be made of whole mappings, as CUDA asks for.
void Memory::unmap(CUdeviceptr address, size_t size) {
  const std::unique_lock lock(content_);
  const auto holder = holder_of(address, size);
  refuse_unless(holder != reservations_.end() && !holder->second.linear &&
                covered(holder->second, address, size, false));
  auto& mappings = holder->second.mappings;
  const auto last = std::prev(mappings.lower_bound(address + size));
  refuse_unless(mappings.count(address) && last->first + last->second.size == address + size);
  for (auto each = mappings.find(address); each != mappings.end() && each->first < address + size;)
    unmap_one(holder->second, each++);
}

void Memory::unmap_one(Reservation& reservation, std::map<CUdeviceptr, Mapping>::iterator mapping) {
  const auto holder = holder_of(mapping->first, mapping->second.size);
  void* shadow = reservation.shadow + (mapping->first - holder->first);
  ::mmap(shadow, mapping->second.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
  const auto physical = physical_.find(mapping->second.handle);
  --physical->second.mappings;
  reservation.mappings.erase(mapping);
  drop_if_unused(physical);
}

void Memory::set_access(CUdeviceptr address, size_t size, int flags) {
  const std::unique_lock lock(content_);
  const auto holder = holder_of(address, size);
  refuse_unless(holder != reservations_.end() && covered(holder->second, address, size, false));
  for (auto& [start, mapping] : holder->second.mappings)
    if (start >= address && start < address + size) mapping.access = flags;
}

CUdeviceptr Memory::allocate(size_t size, int device, CUdeviceptr wanted) {
  refuse_unless(size != 0);
  const std::unique_lock lock(content_);
  const size_t whole = rounded(size, kPage);
  const uint64_t handle = create_locked(whole, device, false);
  const CUdeviceptr address = reserve_locked(whole, kPage, wanted);
  map_locked(address, whole, 0, handle);
  reservations_[address].linear = true;
  reservations_[address].mappings[address].access = 3;
  physical_[handle].holders = 0;
  return address;
}

void Memory::free(CUdeviceptr address) {
  const std::unique_lock lock(content_);
  const auto found = reservations_.find(address);
  refuse_unless(found != reservations_.end() && found->second.linear);
  free_locked(found);
}

void Memory::free_locked(Reservations::iterator reservation) {
  unmap_one(reservation->second, reservation->second.mappings.begin());
  drop(reservation);
}

/// What cuMemAlloc gave on the device: goes away with the context.
void Memory::free_all(int device) {
  const std::unique_lock lock(content_);
  for (auto each = reservations_.begin(); each != reservations_.end();) {
    const auto one = each++;
    if (one->second.linear && physical_[one->second.mappings.begin()->second.handle].device == device)
      free_locked(one);
  }
}

Memory::Reservations::iterator Memory::holder_of(CUdeviceptr address, size_t size) {
  auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return reservations_.end();
  const auto holder = std::prev(after);
  const size_t inside = address - holder->first;
  const bool fits = inside <= holder->second.size && size <= holder->second.size - inside;
  return fits ? holder : reservations_.end();
}

bool Memory::covered(const Reservation& reservation, CUdeviceptr address, size_t size, bool accessible) {
  auto mapping = reservation.mappings.upper_bound(address);
  if (mapping == reservation.mappings.begin()) return false;
  --mapping;
  for (const CUdeviceptr end = address + size; address < end; ++mapping) {
    if (mapping == reservation.mappings.end() || mapping->first > address) return false;
    if (mapping->first + mapping->second.size <= address) return false;
    if (accessible && mapping->second.access != 3) return false;
    address = mapping->first + mapping->second.size;
  }
  return true;
}

bool Memory::on_device(CUdeviceptr address, size_t size) {
  const auto lock = hold();
  const auto holder = holder_of(address, size);
  return holder != reservations_.end() && covered(holder->second, address, size, true);
}

int Memory::device_of(CUdeviceptr address) {
  const auto lock = hold();
  const auto holder = holder_of(address, 1);
  if (holder == reservations_.end() || !covered(holder->second, address, 1, false)) return -1;
  const auto mapping = std::prev(holder->second.mappings.upper_bound(address));
  return physical_.at(mapping->second.handle).device;
}

}  // namespace jitc::fakes
