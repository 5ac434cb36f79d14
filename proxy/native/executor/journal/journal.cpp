#include "journal.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"

namespace jitc {
namespace {
constexpr size_t kPart = 1u << 20;
/// Bounds on the free chunks that keep their memory, as many as recent minibatches needed: a page fault costs
/// ten times what a copy does.
constexpr size_t kLeastKept = 2, kMostKept = 64;
}  // namespace

Journal::Journal(const Place& memory, const Place& spill, bool existing)
    : RecordLog(memory, spill, SharedMap::Access::write) {
  free_.assign(chunks(), true);
  dirty_.assign(chunks(), existing);
  existing ? open() : write_header();
}

void Journal::open() {
  read_header();
  needed_ = listed_ - head() / kChunkBytes;
  for (uint64_t number = head() / kChunkBytes; number < listed_; ++number)
    free_[chunks_[number % chunks()]] = false;
  for (uint32_t physical = 0; physical < chunks(); ++physical)
    if (free_[physical]) release(physical), dirty_[physical] = false;
  if (const std::string found = damage(); !found.empty()) throw Error(found);
}

std::string Journal::damage() const {
  const std::lock_guard lock(mutex_);
  return RecordLog::damage();
}

bool Journal::next_chunk(uint64_t number) {
  const auto lowest = std::find(free_.begin(), free_.end(), true);
  if (lowest == free_.end()) return false;
  const auto physical = static_cast<uint32_t>(lowest - free_.begin());
  if (physical >= memory_chunks_ && !spill_.reserve((physical - memory_chunks_) * kChunkBytes, kChunkBytes))
    return false;
  free_[physical] = dirty_[physical] = false;
  needed_ = std::max<size_t>(needed_, number + 1 - head() / kChunkBytes);
  listed_chunk(number).store(physical, std::memory_order_release);
  chunks_[number % chunks()].store(physical, std::memory_order_release);
  listed_ = number + 1;
  return true;
}

bool Journal::append(RecordKind kind, uint64_t sequence, std::initializer_list<Bytes> pieces, uint16_t part,
                     uint16_t parts, uint64_t* position_out) {
  size_t size = 0;
  for (const Bytes piece : pieces) size += piece.size();
  const uint64_t needed = round_up(sizeof(RecordHeader) + size, 8);
  if (needed > kChunkBytes) throw Error("a journal record is too large");

  const std::lock_guard lock(mutex_);
  uint64_t position = tail();
  const uint64_t offset = position % kChunkBytes;
  const bool fits = position / kChunkBytes < listed_ && offset + needed <= kChunkBytes;
  if (!fits) {
    const uint64_t number = round_up(position, kChunkBytes) / kChunkBytes;
    if (!next_chunk(number)) return false;
    if (offset && offset + sizeof(RecordHeader) <= kChunkBytes)
      write(RecordKind::chunk_end, position, 0, {}, 0, 1);
    position = number * kChunkBytes;
  }
  write(kind, position, sequence, pieces, part, parts);
  if (position_out) *position_out = position;
  header().tail.store(guarded(position + needed), std::memory_order_release);
  tail_.store(position + needed, std::memory_order_release);
  return true;
}

void Journal::write(RecordKind kind, uint64_t position, uint64_t sequence,
                    std::initializer_list<Bytes> pieces, uint16_t part, uint16_t parts) const {
  auto* const record = reinterpret_cast<RecordHeader*>(address(position));
  auto* to = reinterpret_cast<std::byte*>(record + 1);
  for (const Bytes piece : pieces) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  const auto size = static_cast<uint32_t>(to - reinterpret_cast<std::byte*>(record + 1));
  *record = {0, kind, 0, size, part, parts, position, sequence};
  record->checksum = checksum_of(*record, size);
}

bool Journal::append_parts(RecordKind kind, uint64_t sequence, Bytes document) {
  const auto parts = static_cast<uint16_t>(std::max<size_t>(1, (document.size() + kPart - 1) / kPart));
  for (uint16_t part = 0; part < parts; ++part) {
    const size_t from = part * kPart;
    if (!append(kind, sequence, {document.subspan(from, std::min(kPart, document.size() - from))}, part,
                parts))
      return false;
  }
  return true;
}

void Journal::truncate(uint64_t position) {
  const std::lock_guard lock(mutex_);
  const uint64_t old = head();
  position = std::min(position, tail());
  if (position <= old) return;
  header().head.store(guarded(position), std::memory_order_release);
  head_.store(position, std::memory_order_release);
  const uint64_t first = old / kChunkBytes, end = std::min(position / kChunkBytes, listed_);
  if (first >= end) return;
  for (uint64_t number = first; number < end; ++number)
    free_[chunks_[number % chunks()]] = dirty_[chunks_[number % chunks()]] = true;
  release_unneeded(listed_ - end);
}

/// Names the reserves before it voids the rest, so that the process may be killed at any instruction.
void Journal::set_first_boundary(uint64_t number, const Reserves& reserves) {
  for (size_t i = 0; i < reserves.size(); ++i)
    header().reserves[i].store(guarded(reserves[i]), std::memory_order_release);
  reserves_ = reserves;
  header().first_boundary.store(guarded(number), std::memory_order_release);
  first_boundary_.store(number, std::memory_order_release);
}

/// Releases chunks beyond recent need. used: chunks that are not free. The need decays chunk by chunk: one
/// large minibatch is soon over.
void Journal::release_unneeded(size_t used) {
  const size_t needed = std::clamp(needed_, kLeastKept, kMostKept);
  needed_ = std::max(needed - 1, used);
  size_t kept = 0;
  for (uint32_t one = 0; one < chunks(); ++one) {
    if (!dirty_[one] || !free_[one]) continue;
    if (one < memory_chunks_ && used + kept < needed) {
      ++kept;
      continue;
    }
    release(one);
    dirty_[one] = false;
  }
}

void Journal::release(uint32_t physical) const {
  if (physical < memory_chunks_)
    memory_.release(data_offset_ + physical * kChunkBytes, kChunkBytes);
  else
    spill_.release((physical - memory_chunks_) * kChunkBytes, kChunkBytes);
}

}  // namespace jitc
