#include "results.h"

#include <algorithm>
#include <cstring>

namespace jitc {

Hash Results::hash_of(uint32_t status, Bytes payload) {
  Hash hash = hash_bytes(payload);
  for (int i = 0; i < 4; ++i) hash[i] ^= static_cast<uint8_t>(status >> (8 * i));
  return hash;
}

std::optional<Hash> Results::known(uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sequence);
  if (found == entries_.end()) return std::nullopt;
  return found->second.record.hash;
}

std::optional<uint32_t> Results::status(uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sequence);
  if (found == entries_.end()) return std::nullopt;
  return found->second.record.status;
}

void Results::add(uint64_t sequence, const Record& record, Bytes payload, uint64_t position) {
  const std::lock_guard lock(mutex_);
  if (sequence <= received_) payload = {};
  entries_.insert_or_assign(sequence, Entry{record, {payload.begin(), payload.end()}, position});
}

void Results::received(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence <= received_) return;
  for (auto entry = entries_.upper_bound(received_); entry != entries_.end() && entry->first <= sequence;
       ++entry)
    std::vector<std::byte>().swap(entry->second.payload);
  received_ = sequence;
}

uint64_t Results::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

std::vector<Results::Owed> Results::owed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Owed> list;
  for (auto entry = entries_.upper_bound(received_); entry != entries_.end(); ++entry)
    list.push_back({entry->first, entry->second.record.status, entry->second.payload});
  return list;
}

std::optional<uint64_t> Results::oldest_owed() const {
  const std::lock_guard lock(mutex_);
  std::optional<uint64_t> oldest;
  for (auto entry = entries_.upper_bound(received_); entry != entries_.end(); ++entry)
    oldest = std::min(oldest.value_or(UINT64_MAX), entry->second.position);
  return oldest;
}

void Results::forget(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  entries_.erase(entries_.begin(), entries_.upper_bound(std::min(sequence, received_)));
}

}  // namespace jitc
