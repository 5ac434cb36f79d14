#include "send_queue.h"

#include <algorithm>
#include <cstring>

#include "jitc/shared_steps.h"

namespace jitc::session {
namespace {

constexpr size_t kChunk = size_t{256} << 10;
constexpr size_t kBatch = size_t{1} << 20;
constexpr size_t kKeepFree = 12;
constexpr size_t kLargestFree = (size_t{1} << 20) + 4096;  // the largest payload of one copy, with its header

ops::OpHeader* header(std::byte* record) { return reinterpret_cast<ops::OpHeader*>(record); }

}  // namespace

void SendQueue::write_record(std::byte* out, const ops::OpHeader* op, size_t op_size,
                             std::span<const std::byte> payload) {
  const size_t size = record_size(op_size, payload.size());
  const size_t used = op_size + payload.size();
  std::memcpy(out, op, op_size);
  if (!payload.empty()) std::memcpy(out + op_size, payload.data(), payload.size());
  std::memset(out + used, 0, size - used);
  header(out)->size = static_cast<uint32_t>(size);
}

/// Marks the op: a thread in a step has the step's phase; other threads' work is no part of the step.
void SendQueue::mark(ops::OpHeader& op) {
  const auto phase = static_cast<ops::Phase>((op.flags & ops::kPhaseMask) >> ops::kPhaseShift);
  if (in_step_ && phase != ops::Phase::optimizer) op.flags |= ops::kFlagOtherThread;
  const auto id = static_cast<ops::OpId>(op.op);
  in_step_ = id == ops::OpId::step_begin || (in_step_ && id != ops::OpId::boundary);
}

uint64_t SendQueue::number(std::byte* record, Chunk& chunk) {
  mark(*header(record));
  const uint64_t sequence = ++last_;
  header(record)->sequence = sequence;
  if (chunk.first == 0) chunk.first = sequence;
  chunk.last = sequence;
  return sequence;
}

SendQueue::Chunk& SendQueue::room_for(size_t record) {
  if (open_ && chunks_.back()->capacity - chunks_.back()->size >= record) return *chunks_.back();
  auto same = [](const auto& chunk) { return chunk->capacity == kChunk; };
  const auto found = std::find_if(free_.begin(), free_.end(), same);
  if (found != free_.end()) {
    chunks_.push_back(std::move(*found));
    free_.erase(found);
  } else {
    chunks_.push_back(std::make_unique<Chunk>(kChunk));
  }
  open_ = true;
  return *chunks_.back();
}

uint64_t SendQueue::append(const ops::OpHeader* op, size_t op_size, std::span<const std::byte> payload) {
  const size_t size = record_size(op_size, payload.size());
  Chunk& chunk = room_for(size);
  std::byte* record = chunk.bytes.get() + chunk.size;
  write_record(record, op, op_size, payload);
  chunk.size += size;
  bytes_ += size;
  return number(record, chunk);
}

std::unique_ptr<SendQueue::Chunk> SendQueue::large_chunk(size_t record) {
  const auto fits = [record](const auto& chunk) {
    return chunk->capacity != kChunk && chunk->capacity >= record;
  };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) return std::make_unique<Chunk>(std::max(record, kLargestFree));
  auto chunk = std::move(*found);
  free_.erase(found);
  return chunk;
}

uint64_t SendQueue::append(std::unique_ptr<Chunk> chunk) {
  chunks_.push_back(std::move(chunk));
  open_ = false;
  Chunk& last = *chunks_.back();
  last.size = header(last.bytes.get())->size;
  bytes_ += last.size;
  return number(last.bytes.get(), last);
}

size_t SendQueue::next(std::span<const std::byte>* parts, size_t capacity) {
  size_t count = 0, total = 0;
  while (cursor_chunk_ < chunks_.size() && count < capacity) {
    const Chunk& chunk = *chunks_[cursor_chunk_];
    const size_t size = chunk.size - cursor_at_;
    if (size > 0 && total > 0 && total + size > kBatch) break;
    if (size > 0) {
      parts[count++] = {chunk.bytes.get() + cursor_at_, size};
      total += size;
      sent_ = chunk.last;
      cursor_at_ = chunk.size;
    }
    if (cursor_chunk_ + 1 == chunks_.size()) break;  // more records may be appended here
    ++cursor_chunk_;
    cursor_at_ = 0;
  }
  return count;
}

void SendQueue::recycle(std::unique_ptr<Chunk> chunk) {
  if (free_.size() >= kKeepFree || chunk->capacity > kLargestFree) return;
  chunk->size = 0;
  chunk->first = chunk->last = 0;
  free_.push_back(std::move(chunk));
}

SendQueue::Acknowledged SendQueue::acknowledge(uint64_t sequence) {
  if (sequence > sent_) return Acknowledged::unknown_op;
  acknowledged_ = std::max(acknowledged(), sequence);
  while (!chunks_.empty() && chunks_.front()->last != 0 && chunks_.front()->last <= acknowledged()) {
    bytes_ -= chunks_.front()->size;
    recycle(std::move(chunks_.front()));
    chunks_.pop_front();
    if (cursor_chunk_ > 0)
      --cursor_chunk_;
    else
      cursor_at_ = 0;
  }
  if (chunks_.empty()) open_ = false;
  return Acknowledged::good;
}

SendQueue::Acknowledged SendQueue::restart(uint64_t sequence) {
  if (sequence > sent_) return Acknowledged::unknown_op;
  if (sequence < acknowledged()) return Acknowledged::lost_op;
  acknowledge(sequence);
  cursor_chunk_ = cursor_at_ = 0;
  sent_ = sequence;
  if (chunks_.empty()) return Acknowledged::good;
  // The worker may have received only the first part of a batch.
  const Chunk& chunk = *chunks_.front();
  while (cursor_at_ < chunk.size && header(chunk.bytes.get() + cursor_at_)->sequence <= sequence)
    cursor_at_ += header(chunk.bytes.get() + cursor_at_)->size;
  return Acknowledged::good;
}

}  // namespace jitc::session
