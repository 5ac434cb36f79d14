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

void Results::add(uint64_t sequence, const Record& record, ResultBytes bytes) {
  const std::lock_guard lock(mutex_);
  if (sequence <= received_) bytes.here = {};
  entries_.insert_or_assign(sequence, Entry{record, std::move(bytes)});
  const auto promise = promises_.find(sequence);
  if (promise == promises_.end()) return;
  promised_ -= promise->second;
  promises_.erase(promise);
}

void Results::received(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence <= received_) return;
  for (auto entry = entries_.upper_bound(received_); entry != entries_.end() && entry->first <= sequence;
       ++entry)
    std::vector<std::byte>().swap(entry->second.bytes.here);
  received_ = sequence;
}

uint64_t Results::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

std::optional<std::vector<Results::Owed>> Results::owed() const {
  const std::lock_guard lock(mutex_);
  std::vector<Owed> list;
  for (auto entry = entries_.upper_bound(received_); entry != entries_.end(); ++entry) {
    if (entry->second.lost) return std::nullopt;
    list.push_back({entry->first, entry->second.record.status, entry->second.bytes});
  }
  return list;
}

std::optional<uint64_t> Results::oldest_owed() const {
  const std::lock_guard lock(mutex_);
  uint64_t oldest = ResultBytes::kHere;
  for (auto entry = entries_.upper_bound(received_); entry != entries_.end(); ++entry)
    oldest = std::min(oldest, entry->second.bytes.position);
  return oldest == ResultBytes::kHere ? std::nullopt : std::optional(oldest);
}

void Results::forget(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  entries_.erase(entries_.begin(), entries_.upper_bound(std::min(sequence, received_)));
}

void Results::take_in(const ResultReader& read, uint64_t most) {
  const std::lock_guard lock(mutex_);
  uint64_t kept = 0;
  for (auto entry = entries_.end(); entry != entries_.begin();) {
    --entry;
    ResultBytes& bytes = entry->second.bytes;
    const bool owed = entry->first > received_ && !entry->second.lost;
    if (owed && kept + bytes.size <= most) {
      kept += bytes.size;
      if (bytes.position != ResultBytes::kHere) {
        const auto found = read(bytes.position, bytes.size);
        bytes.here.assign(found.begin(), found.end());
      }
    } else {
      entry->second.lost |= owed;
      bytes.here = {};
    }
    bytes.position = ResultBytes::kHere;
  }
}

size_t Results::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void Results::promise(uint64_t sequence, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  uint64_t& promise = promises_[sequence];
  promised_ += bytes - promise;
  promise = bytes;
}

bool Results::is_promised(uint64_t sequence) const {
  const std::lock_guard lock(mutex_);
  return promises_.contains(sequence);
}

void Results::drop_promises() {
  const std::lock_guard lock(mutex_);
  promises_.clear();
  promised_ = 0;
}

}  // namespace jitc
