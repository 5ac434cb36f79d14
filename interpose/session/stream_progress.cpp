#include "stream_progress.h"

namespace jitc::runtime {
namespace {

constexpr size_t kFirstSize = 256;  // a program with PyTorch's stream pools has 65 to 130
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kRelaxed = std::memory_order_relaxed;

size_t spread(uint64_t key) {
  key *= 0x9e3779b97f4a7c15;
  return key ^ key >> 32;
}

void raise(std::atomic<uint64_t>& value, uint64_t to) {
  if (value.load(kRelaxed) < to) value.store(to, kRelease);
}

}  // namespace

StreamProgress::StreamProgress() {
  tables_.push_back(std::make_unique<Table>(kFirstSize));
  current_.store(tables_.back().get(), kRelease);
}

/// The entry of the key, or the free one where it would be.
StreamProgress::Entry* StreamProgress::slot(const Table& table, uint64_t key) {
  for (size_t at = spread(key);; ++at) {
    Entry& entry = table.entries[at & table.mask];
    const uint64_t found = entry.key.load(kAcquire);
    if (found == key || found == 0) return &entry;
  }
}

const StreamProgress::Entry* StreamProgress::find(uint64_t stream) const {
  const Entry* found = slot(*current_.load(kAcquire), stream + 1);
  return found->key.load(kRelaxed) != 0 ? found : nullptr;
}

StreamProgress::Entry& StreamProgress::entry(uint64_t stream) {
  Table* table = tables_.back().get();
  Entry* found = slot(*table, stream + 1);
  if (found->key.load(kRelaxed) != 0) return *found;
  if (table->used * 2 > table->mask) {
    grow();
    table = tables_.back().get();
    found = slot(*table, stream + 1);
  }
  ++table->used;
  found->key.store(stream + 1, kRelease);
  return *found;
}

void StreamProgress::grow() {
  const Table& old = *tables_.back();
  auto larger = std::make_unique<Table>((old.mask + 1) * 2);
  for (size_t i = 0; i <= old.mask; ++i) {
    const Entry& from = old.entries[i];
    const uint64_t key = from.key.load(kRelaxed);
    if (key == 0) continue;
    Entry* to = slot(*larger, key);
    to->submitted.store(from.submitted.load(kRelaxed), kRelaxed);
    to->executed.store(from.executed.load(kRelaxed), kRelaxed);
    to->key.store(key, kRelaxed);
    ++larger->used;
  }
  tables_.push_back(std::move(larger));
  current_.store(tables_.back().get(), kRelease);
}

uint64_t StreamProgress::submitted(uint64_t stream) const {
  const Entry* entry = find(stream);
  return entry != nullptr ? entry->submitted.load(kAcquire) : 0;
}

bool StreamProgress::executed(uint64_t stream, uint64_t sequence) const {
  if (everywhere_.load(kAcquire) >= sequence) return true;
  const Entry* entry = find(stream);
  return entry != nullptr && entry->executed.load(kAcquire) >= sequence;
}

void StreamProgress::submit(uint64_t stream, uint64_t sequence) { raise(entry(stream).submitted, sequence); }
void StreamProgress::advance(uint64_t stream, uint64_t sequence) { raise(entry(stream).executed, sequence); }
void StreamProgress::advance_all(uint64_t sequence) { raise(everywhere_, sequence); }

}  // namespace jitc::runtime
