// Kernels by the program's name for them: the address of a host function, or a handle that jitc gave out.
//
// Used by kernels.cpp. Promises: a look-up takes no lock and does not allocate (every launch makes one); a
// key is never lost. Writers hold a lock.
//
// A hash table that only grows. A full one is replaced by one of twice the size; the old one is kept, because
// a reader may still use it (all old ones together are smaller than the newest).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace jitc::api {

class Kernel;

class KernelTable {
 public:
  KernelTable() { use(kFirst); }

  Kernel* find(uint64_t key) const {
    const Table& table = *current_.load(std::memory_order_acquire);
    for (size_t at = hash(key);; ++at) {
      const Entry& entry = table.entries[at & table.mask];
      const uint64_t found = entry.key.load(std::memory_order_acquire);
      if (found == key) return entry.kernel.load(std::memory_order_acquire);
      if (!found) return nullptr;
    }
  }
  /// kernel nullptr: forgets the key.
  void set(uint64_t key, Kernel* kernel) {
    const std::lock_guard lock(mutex_);
    Table* table = tables_.back().get();
    if (2 * (table->used + 1) > table->mask + 1) table = grow(*table);
    put(*table, key, kernel);
  }

 private:
  static constexpr size_t kFirst = 1024;
  struct Entry {
    std::atomic<uint64_t> key{0};
    std::atomic<Kernel*> kernel{nullptr};
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(std::make_unique<Entry[]>(size)) {}
    size_t mask, used = 0;
    std::unique_ptr<Entry[]> entries;
  };

  static size_t hash(uint64_t key) { return static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> 20); }
  static void put(Table& table, uint64_t key, Kernel* kernel) {
    for (size_t at = hash(key);; ++at) {
      Entry& entry = table.entries[at & table.mask];
      const uint64_t found = entry.key.load(std::memory_order_relaxed);
      if (found && found != key) continue;
      entry.kernel.store(kernel, std::memory_order_release);
      if (!found) ++table.used;
      entry.key.store(key, std::memory_order_release);
      return;
    }
  }
  Table* grow(const Table& old) {
    auto next = std::make_unique<Table>(2 * (old.mask + 1));
    for (size_t i = 0; i <= old.mask; ++i)
      if (Kernel* kernel = old.entries[i].kernel.load(std::memory_order_relaxed))
        put(*next, old.entries[i].key.load(std::memory_order_relaxed), kernel);
    tables_.push_back(std::move(next));
    current_.store(tables_.back().get(), std::memory_order_release);
    return tables_.back().get();
  }
  void use(size_t size) {
    tables_.push_back(std::make_unique<Table>(size));
    current_.store(tables_.back().get(), std::memory_order_release);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<Table*> current_{nullptr};
};

}  // namespace jitc::api
