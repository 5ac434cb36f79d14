// Table from 64-bit keys to values that is read without a lock.
//
// Used by stream_progress (session) and the kernel table (API layer). Promises: a look-up takes no lock, does
// not allocate and never waits; an entry that was visible stays visible. Writers hold a lock of the owner.
//
// A hash table that only grows. A full one is replaced by one of twice the size; the old one is kept, because
// a reader may still use it (all old ones together are smaller than the newest).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace jitc::session {

/// Table. Value: of atomics, default-constructible, with `void carry(const Value&)`, which copies, and `bool
/// forgotten() const`: a table that grows leaves it behind.
template <class Value>
class LookupTable {
 public:
  /// first: initial number of entries, a power of two.
  explicit LookupTable(size_t first) { use(std::make_unique<Table>(first)); }

  /// Returns the value; nullptr: there is no entry. key: not 0.
  const Value* find(uint64_t key) const {
    const Entry& entry = slot(*current_.load(std::memory_order_acquire), key);
    // Another key may have taken a free entry meanwhile.
    return entry.key.load(std::memory_order_acquire) == key ? &entry.value : nullptr;
  }
  /// Calls visit(key, const Value&) for all entries visible by now.
  template <class Visit>
  void each(Visit&& visit) const {
    const Table& table = *current_.load(std::memory_order_acquire);
    for (size_t i = 0; i <= table.mask; ++i)
      if (const uint64_t key = table.entries[i].key.load(std::memory_order_acquire))
        visit(key, table.entries[i].value);
  }
  /// Calls change(Value&) on the key's entry; a new entry becomes visible after that. One writer at a time.
  template <class Change>
  void update(uint64_t key, Change&& change) {
    Entry* entry = &slot(*tables_.back(), key);
    const bool known = entry->key.load(std::memory_order_relaxed) != 0;
    if (!known && 2 * (tables_.back()->used + 1) > tables_.back()->mask + 1) {
      grow();
      entry = &slot(*tables_.back(), key);
    }
    change(entry->value);
    if (known) return;
    ++tables_.back()->used;
    entry->key.store(key, std::memory_order_release);
  }

 private:
  struct Entry {
    std::atomic<uint64_t> key{0};  // 0: free
    Value value;
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(std::make_unique<Entry[]>(size)) {}
    size_t mask, used = 0;
    std::unique_ptr<Entry[]> entries;
  };

  /// Returns the entry of the key, or the free one for it.
  static Entry& slot(const Table& table, uint64_t key) {
    const uint64_t hash = key * 0x9e3779b97f4a7c15;
    for (size_t at = hash ^ hash >> 32;; ++at) {
      Entry& entry = table.entries[at & table.mask];
      const uint64_t found = entry.key.load(std::memory_order_acquire);
      if (found == key || found == 0) return entry;
    }
  }
  void grow() {
    const Table& old = *tables_.back();
    auto larger = std::make_unique<Table>((old.mask + 1) * 2);
    for (size_t i = 0; i <= old.mask; ++i) {
      const Entry& from = old.entries[i];
      const uint64_t key = from.key.load(std::memory_order_relaxed);
      if (!key || from.value.forgotten()) continue;
      Entry& to = slot(*larger, key);
      to.value.carry(from.value);
      to.key.store(key, std::memory_order_relaxed);
      ++larger->used;
    }
    use(std::move(larger));
  }
  void use(std::unique_ptr<Table> table) {
    tables_.push_back(std::move(table));
    current_.store(tables_.back().get(), std::memory_order_release);
  }

  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<Table*> current_{nullptr};
};

}  // namespace jitc::session
