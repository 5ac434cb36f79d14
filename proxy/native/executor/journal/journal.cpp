#include "journal.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"

namespace jitc {
namespace {
constexpr uint64_t kMagic = 0x314c4e524a43544a;  // "JTCJRNL1"
constexpr uint64_t kPage = 4096;
constexpr size_t kPart = 1u << 20;
/// Free chunks keep their memory, for a page fault costs ten times what a copy does: as many as the
/// minibatches of late needed, and between so many.
constexpr size_t kLeastKept = 2, kMostKept = 64;

constexpr uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint32_t checksum_of(const RecordHeader& record) {
  const auto* const start = reinterpret_cast<const std::byte*>(&record);
  return crc32c(0, {start + sizeof(record.checksum), sizeof(record) - sizeof(record.checksum) + record.size});
}

uint64_t read_word(const std::atomic<uint64_t>& word) {
  if (const auto value = unguarded(word.load())) return *value;
  throw Error("the journal is damaged: its header is not what was written");
}
}  // namespace

Journal::Journal(const Place& memory, const Place& spill, bool existing) {
  const uint64_t most = (memory.bytes + spill.bytes) / kChunkBytes;
  data_offset_ = round_up(sizeof(Header) + most * sizeof(std::atomic<uint32_t>), kPage);
  if (memory.bytes < data_offset_ + 2 * kChunkBytes)
    throw Error("the journal needs at least " + std::to_string(data_offset_ + 2 * kChunkBytes) +
                " bytes, not " + std::to_string(memory.bytes));
  memory_chunks_ = (memory.bytes - data_offset_) / kChunkBytes;
  spill_chunks_ = spill.path.empty() ? 0 : spill.bytes / kChunkBytes;
  memory_ = SharedMap(memory.path, memory.bytes);
  if (spill_chunks_) spill_ = SharedMap(spill.path, spill_chunks_ * kChunkBytes);
  free_.assign(chunks(), true);
  dirty_.assign(chunks(), existing);
  chunks_ = std::vector<std::atomic<uint32_t>>(chunks());
  existing ? open() : create();
}

void Journal::create() {
  Header& made = header();
  made.format = kFormat;
  made.op_format = ops::kFormatVersion;
  made.chunk_bytes = kChunkBytes;
  made.memory_chunks = memory_chunks_;
  made.spill_chunks = spill_chunks_;
  for (auto* const word :
       {&made.head, &made.tail, &made.first_boundary, &made.reserves[0], &made.reserves[1]})
    word->store(guarded(0));
  made.magic = kMagic;
}

void Journal::open() {
  check_header();
  read_list();
  for (uint32_t physical = 0; physical < chunks(); ++physical)
    if (free_[physical]) release(physical), dirty_[physical] = false;
  if (const std::string found = damage(); !found.empty()) throw Error(found);
}

void Journal::check_header() const {
  const Header& found = header();
  if (found.magic != kMagic) throw Error("this is no journal");
  if (found.format != kFormat || found.op_format != ops::kFormatVersion)
    throw Error("the journal has format " + std::to_string(found.format) + "." +
                std::to_string(found.op_format) + ", this worker reads " + std::to_string(kFormat) + "." +
                std::to_string(ops::kFormatVersion));
  if (found.chunk_bytes != kChunkBytes || found.memory_chunks != memory_chunks_ ||
      found.spill_chunks != spill_chunks_)
    throw Error("the journal was made with other sizes than those given");
}

void Journal::read_list() {
  const Header& found = header();
  head_ = read_word(found.head);
  tail_ = read_word(found.tail);
  first_boundary_ = read_word(found.first_boundary);
  for (size_t i = 0; i < reserves_.size(); ++i) reserves_[i] = read_word(found.reserves[i]);
  if (head() > tail()) throw Error("the journal is damaged: its head lies after its tail");
  listed_ = (tail() + kChunkBytes - 1) / kChunkBytes;
  needed_ = listed_ - head() / kChunkBytes;
  if (needed_ > chunks()) throw Error("the journal is damaged: it lists too many chunks");
  for (uint64_t number = head() / kChunkBytes; number < listed_; ++number) {
    const uint32_t physical = listed_chunk(number).load();
    if (physical >= chunks() || !free_[physical])
      throw Error("the journal is damaged: its list of chunks is wrong");
    free_[physical] = false;
    chunks_[number % chunks()] = physical;
  }
}

std::string Journal::damage() const {
  const std::lock_guard lock(mutex_);
  uint64_t position = head();
  while (position < tail()) {
    const uint64_t offset = position % kChunkBytes;
    if (offset + sizeof(RecordHeader) > kChunkBytes) {
      position = round_up(position, kChunkBytes);
      continue;
    }
    const auto& record = *reinterpret_cast<const RecordHeader*>(address(position));
    const uint64_t room = kChunkBytes - offset - sizeof(RecordHeader);
    if (record.position != position || record.size > room || checksum_of(record) != record.checksum) break;
    position = record.kind == RecordKind::chunk_end ? round_up(after(record), kChunkBytes) : after(record);
  }
  if (position == tail()) return {};
  return "the journal is damaged at position " + std::to_string(position);
}

std::byte* Journal::chunk(uint32_t physical) const {
  if (physical < memory_chunks_) return memory_.data() + data_offset_ + physical * kChunkBytes;
  return spill_.data() + (physical - memory_chunks_) * kChunkBytes;
}

std::byte* Journal::address(uint64_t position) const {
  const uint32_t physical = chunks_[position / kChunkBytes % chunks()].load(std::memory_order_acquire);
  return chunk(physical) + position % kChunkBytes;
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
  record->checksum = checksum_of(*record);
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

const RecordHeader* Journal::at(uint64_t& position) const {
  const uint64_t end = tail();
  if (position >= end) return nullptr;
  // A chunk starts with a record whenever it is listed, so one step leads to the next record.
  const bool ends = position % kChunkBytes &&
                    (position % kChunkBytes + sizeof(RecordHeader) > kChunkBytes ||
                     reinterpret_cast<const RecordHeader*>(address(position))->kind == RecordKind::chunk_end);
  if (ends) position = round_up(position, kChunkBytes);
  return position < end ? reinterpret_cast<const RecordHeader*>(address(position)) : nullptr;
}

uint64_t Journal::after(const RecordHeader& record) {
  return record.position + round_up(sizeof(RecordHeader) + record.size, 8);
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

/// Whatever instruction the process is killed at: what is to stay is named before the rest is void.
void Journal::set_first_boundary(uint64_t number, const Reserves& reserves) {
  for (size_t i = 0; i < reserves.size(); ++i)
    header().reserves[i].store(guarded(reserves[i]), std::memory_order_release);
  reserves_ = reserves;
  header().first_boundary.store(guarded(number), std::memory_order_release);
  first_boundary_.store(number, std::memory_order_release);
}

bool Journal::has_boundary(uint64_t number) const {
  return number >= first_boundary() || std::ranges::find(reserves_, number) != reserves_.end();
}

/// used: chunks that are not free. What is needed is forgotten chunk by chunk: one large minibatch is soon
/// over.
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
