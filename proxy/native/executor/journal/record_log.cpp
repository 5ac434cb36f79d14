#include "record_log.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"
#include "jitc/generated_ops.h"

namespace jitc {
namespace {
constexpr uint64_t kMagic = 0x314c4e524a43544a;  // "JTCJRNL1"
constexpr uint64_t kPage = 4096;

uint64_t read_word(const std::atomic<uint64_t>& word) {
  if (const auto value = unguarded(word.load(std::memory_order_acquire))) return *value;
  throw Error("the journal is damaged: its header is not what was written");
}

bool is_among(uint64_t number, uint64_t first, const RecordLog::Reserves& reserves) {
  return number >= first || std::ranges::find(reserves, number) != reserves.end();
}
}  // namespace

uint32_t checksum_of(const RecordHeader& record, uint32_t size) {
  const auto* const start = reinterpret_cast<const std::byte*>(&record);
  return crc32c(0, {start + sizeof(record.checksum), sizeof(record) - sizeof(record.checksum) + size});
}

RecordLog::RecordLog(const Place& memory, const Place& spill, SharedMap::Access access) {
  const uint64_t most = (memory.bytes + spill.bytes) / kChunkBytes;
  data_offset_ = round_up(sizeof(Header) + most * sizeof(std::atomic<uint32_t>), kPage);
  if (memory.bytes < data_offset_ + 2 * kChunkBytes)
    throw Error("the journal needs at least " + std::to_string(data_offset_ + 2 * kChunkBytes) +
                " bytes, not " + std::to_string(memory.bytes));
  memory_chunks_ = (memory.bytes - data_offset_) / kChunkBytes;
  spill_chunks_ = spill.path.empty() ? 0 : spill.bytes / kChunkBytes;
  memory_ = SharedMap(memory.path, memory.bytes, access);
  if (spill_chunks_) spill_ = SharedMap(spill.path, spill_chunks_ * kChunkBytes, access);
  chunks_ = std::vector<std::atomic<uint32_t>>(chunks());
}

RecordLog::RecordLog(const Place& memory, const Place& spill)
    : RecordLog(memory, spill, SharedMap::Access::read) {
  read_header();
}

// -- the header ------------------------------------------------------------------------------------------

void RecordLog::write_header() const {
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

void RecordLog::read_header() {
  check_header();
  read_list();
}

void RecordLog::check_header() const {
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

void RecordLog::read_list() {
  const Header& found = header();
  head_ = read_word(found.head);
  tail_ = read_word(found.tail);
  first_boundary_ = read_word(found.first_boundary);
  for (size_t i = 0; i < reserves_.size(); ++i) reserves_[i] = read_word(found.reserves[i]);
  if (head() > tail()) throw Error("the journal is damaged: its head lies after its tail");
  listed_ = (tail() + kChunkBytes - 1) / kChunkBytes;
  if (listed_ - head() / kChunkBytes > chunks())
    throw Error("the journal is damaged: it lists too many chunks");
  std::vector<bool> taken(chunks());
  for (uint64_t number = head() / kChunkBytes; number < listed_; ++number) {
    const uint32_t physical = listed_chunk(number).load();
    if (physical >= chunks() || taken[physical])
      throw Error("the journal is damaged: its list of chunks is wrong");
    taken[physical] = true;
    chunks_[number % chunks()] = physical;
  }
}

bool RecordLog::moved() const { return read_word(header().head) != head(); }

bool RecordLog::has_boundary(uint64_t number) const { return is_among(number, first_boundary(), reserves_); }

/// Reads in the order opposite to the writer's: the header names what stays before it voids the rest.
bool RecordLog::still_has_boundary(uint64_t number) const {
  const uint64_t first = read_word(header().first_boundary);
  Reserves reserves;
  for (size_t i = 0; i < reserves.size(); ++i) reserves[i] = read_word(header().reserves[i]);
  return is_among(number, first, reserves);
}

// -- the records -----------------------------------------------------------------------------------------

std::byte* RecordLog::address(uint64_t position) const {
  const uint32_t physical = chunks_[position / kChunkBytes % chunks()].load(std::memory_order_acquire);
  std::byte* const chunk = physical < memory_chunks_
                               ? memory_.data() + data_offset_ + physical * kChunkBytes
                               : spill_.data() + (physical - memory_chunks_) * kChunkBytes;
  return chunk + position % kChunkBytes;
}

const RecordHeader* RecordLog::at(uint64_t& position) const {
  const uint64_t end = tail();
  if (position >= end) return nullptr;
  // A chunk starts with a record whenever it is listed, so one step leads to the next record.
  const bool ends = position % kChunkBytes &&
                    (position % kChunkBytes + sizeof(RecordHeader) > kChunkBytes ||
                     reinterpret_cast<const RecordHeader*>(address(position))->kind == RecordKind::chunk_end);
  if (ends) position = round_up(position, kChunkBytes);
  return position < end ? reinterpret_cast<const RecordHeader*>(address(position)) : nullptr;
}

uint64_t RecordLog::after(const RecordHeader& record) {
  return record.position + round_up(sizeof(RecordHeader) + record.size, 8);
}

std::optional<RecordLog::Checked> RecordLog::checked(uint64_t position) const {
  const std::byte* const start = address(position);
  RecordHeader header;  // a copy: its fields do not change between two reads
  std::memcpy(&header, start, sizeof(header));
  const uint64_t room = kChunkBytes - position % kChunkBytes - sizeof(header);
  if (header.position != position || header.size > room) return {};
  if (checksum_of(*reinterpret_cast<const RecordHeader*>(start), header.size) != header.checksum) return {};
  return Checked{header, {start + sizeof(header), header.size}};
}

std::string RecordLog::walk(const Visitor& visit) const {
  uint64_t position = head();
  const uint64_t end = tail();
  while (position < end) {
    if (position % kChunkBytes + sizeof(RecordHeader) > kChunkBytes) {
      position = round_up(position, kChunkBytes);
      continue;
    }
    const auto record = checked(position);
    if (!record) break;
    visit(*record);
    position = after(record->header);
    if (record->header.kind == RecordKind::chunk_end) position = round_up(position, kChunkBytes);
  }
  if (position == end) return {};
  return "the journal is damaged at position " + std::to_string(position);
}

}  // namespace jitc
