// Checks of the lock-free table and of the reader of packed bytes; each returns what is wrong, or null.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "api/common/handles.h"
#include "jitc/packed_reader.h"
#include "session/lookup_table.h"

#define TEST_API extern "C" __attribute__((visibility("default")))

namespace {

struct Number {
  std::atomic<uint64_t> number{0};
  void carry(const Number& from) { number.store(from.number.load()); }
  bool forgotten() const { return number.load() == 0; }
};
using Table = jitc::session::LookupTable<Number>;

constexpr uint64_t kKeys = 20000, kFactor = 1000;

void set(Table& table, uint64_t key, uint64_t number) {
  table.update(key, [&](Number& one) { one.number.store(number); });
}
uint64_t get(const Table& table, uint64_t key) {
  const Number* found = table.find(key);
  return found ? found->number.load() : 0;
}

/// Looks keys up until the last one is there; false: a key had the number of another, or one was lost.
bool read_all(const Table& table, std::atomic<uint64_t>& newest) {
  while (true) {
    const uint64_t last = newest.load();
    for (uint64_t key = 1; key <= kKeys; key += 7) {
      const uint64_t number = get(table, key);
      if (number ? number / kFactor != key : key <= last) return false;
    }
    if (last == kKeys) return true;
  }
}

}  // namespace

TEST_API const char* rt_check_table() {
  Table table(4);
  if (table.find(1)) return "an empty table has an entry";
  for (uint64_t key = 1; key <= 100; ++key) set(table, key, key);
  set(table, 50, 0);
  for (uint64_t key = 101; key <= 1000; ++key) set(table, key, key);
  if (table.find(50)) return "a forgotten entry was carried into a larger table";
  for (uint64_t key = 1; key <= 1000; ++key)
    if (key != 50 && get(table, key) != key) return "an entry was lost";
  return table.find(1001) ? "there is an entry that nobody made" : nullptr;
}

TEST_API const char* rt_check_table_with_readers() {
  Table table(4);
  std::atomic<uint64_t> newest{0};
  std::array<bool, 2> good{};
  std::array<std::thread, 2> readers;
  for (size_t i = 0; i < readers.size(); ++i)
    readers[i] = std::thread([&, i] { good[i] = read_all(table, newest); });
  for (uint64_t key = 1; key <= kKeys; ++key) {
    set(table, key, key * kFactor + 1);
    newest.store(key);
  }
  for (auto& reader : readers) reader.join();
  return good[0] && good[1] ? nullptr : "a reader met the number of another key, or lost one";
}

/// More objects than there are handles, one after the other, and beside those that stay.
TEST_API const char* rt_check_handles_of_many_objects() {
  constexpr uint32_t kGenerations = 8, kResting = 64;
  constexpr size_t kMost = 3;
  jitc::api::HandleTable<uint64_t, jitc::api::Kind::event, kGenerations> table;
  const uint64_t first = table.add(0, kMost), second = table.add(1, kMost);
  uint64_t value = 0;
  std::vector<uint64_t> gone;
  for (uint64_t i = 2; i < 100 * kGenerations * kResting; ++i) {
    const uint64_t handle = table.add(i, kMost);
    if (!handle || handle == first || handle == second) return "a handle is none, or another object's";
    if (table.add(i, kMost)) return "there are more than may be";
    for (size_t ago = 1; ago <= gone.size() && ago < kGenerations * kResting; ++ago)
      if (gone[gone.size() - ago] == handle) return "a handle has come again early";
    if (!table.get(handle, &value) || value != i) return "an object is another one";
    if (!table.remove(handle, &value) || table.contains(handle)) return "an object has not gone";
    gone.push_back(handle);
  }
  if (!table.get(first, &value) || value != 0 || !table.get(second, &value) || value != 1)
    return "what stayed is lost";
  return nullptr;
}

TEST_API const char* rt_check_packed_reader() {
  const std::array<uint32_t, 3> numbers{1, 2, 3};
  jitc::PackedReader reader(std::as_bytes(std::span(numbers)));
  uint32_t first = 0;
  uint64_t wide = 0;
  std::vector<uint32_t> list;
  std::span<const std::byte> bytes;
  if (!reader.take(&first) || first != 1) return "a number was read wrong";
  if (reader.list(3, &list) || reader.list(UINT64_MAX, &list) || !list.empty()) return "a long list was read";
  if (reader.bytes(9, &bytes) || reader.rest().size() != 8) return "bytes past the end were read";
  if (!reader.list(1, &list) || list != std::vector<uint32_t>{2}) return "a list was read wrong";
  if (reader.take(&wide) || reader.rest().size() != 4) return "half a number was read";
  if (!reader.bytes(4, &bytes) || bytes.size() != 4 || !reader.bytes(0, &bytes)) return "bytes are missing";
  return jitc::unpack(reader.rest(), &first) ? "a number was read from nothing" : nullptr;
}
