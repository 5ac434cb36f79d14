#include "variables.h"

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <shared_mutex>

#include "jitc/packed_reader.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr uint64_t kPage = 4096;
/// Above any ordinal of an allocation.
constexpr uint64_t kFirstOrdinal = uint64_t{1} << 62;

struct Found {
  Session* session;
  Block block;
};
struct Key {
  const ModuleImage* image;
  int device;
  std::string name;
  auto operator<=>(const Key&) const = default;
};
struct Variables {
  std::shared_mutex mutex;
  std::map<Key, Found> by_name;
  std::map<uint64_t, Found> by_address;
  std::set<uint64_t> pages;      // of this process, kept free
  std::atomic<size_t> count{0};  // of by_address, so that a program without variables takes no lock
  OnceLatch latch;
};
Variables& variables() {
  static auto& out = *new Variables;
  return out;
}

/// FNV-1a, 64 bit, on from before.
uint64_t mix(uint64_t hash, const void* data, size_t size) {
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  return hash;
}

uint64_t ordinal_of(ModuleImage& image, const std::string& name) {
  const ImageHash& hash = image.hash();
  const uint64_t of_image = mix(0xcbf29ce484222325, hash.data(), hash.size());
  return kFirstOrdinal | mix(of_image, name.data(), name.size()) >> 2;
}

/// Reserves the variable's addresses in this process, or a pointer could mean either. Call with the lock
/// held.
bool keep_free(Variables& all, uint64_t address, uint64_t bytes) {
  for (uint64_t page = address / kPage * kPage; page < address + bytes; page += kPage) {
    if (all.pages.contains(page)) continue;
    auto* const wanted = reinterpret_cast<void*>(page);
    void* const got = mmap(wanted, kPage, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) {
      all.pages.insert(page);
      continue;
    }
    if (got != MAP_FAILED) munmap(got, kPage);
    return false;
  }
  return true;
}

/// Asks the worker where the variable lies.
Status ask(ModuleImage& image, const std::string& name, Session& session, int device, Block* out) {
  Status status = kSuccess;
  ops::VariableGet op;
  op.module = image.module_on(session, device, &status);
  if (!op.module) return status;
  op.bytes = name.size();
  const session::Result result = session.call(op, std::as_bytes(std::span(name)));
  if (result.status) return from_result(result.status);
  std::array<uint64_t, 2> answer;  // address, bytes
  if (!unpack(result.payload, &answer)) return kUnknown;
  *out = {answer[0], answer[1], ordinal_of(image, name)};
  return kSuccess;
}

bool known(const Key& key, Block* out) {
  Variables& all = variables();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_name.find(key);
  if (found == all.by_name.end()) return false;
  *out = found->second.block;
  return true;
}

Status remember(Key key, Session& session, Block block) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  if (!keep_free(all, block.address, block.bytes)) {
    session::message_once("the device variable " + key.name +
                          " lies at an address that this process uses for something else: it is refused; "
                          "start the program again");
    return kNotSupported;
  }
  // The same module may be loaded twice.
  const auto taken = [&] {
    for (const auto& [address, one] : all.by_address)
      if (one.session == &session && one.block.ordinal == block.ordinal) return true;
    return false;
  };
  while (taken()) ++block.ordinal;
  all.by_name[std::move(key)] = all.by_address[block.address] = {&session, block};
  all.count.store(all.by_address.size(), std::memory_order_release);
  return kSuccess;
}

}  // namespace

bool find_variable(ModuleImage& image, const std::string& name, Session& session, int device, Block* out,
                   Status* why) {
  const Key key{&image, device, name};
  if (known(key, out)) return true;
  const std::lock_guard making(variables().latch);
  if (known(key, out)) return true;
  *why = ask(image, name, session, device, out);
  if (!*why) *why = remember(key, session, *out);
  return !*why;
}

Status get_variable(ModuleImage& image, const char* name, int device, uint64_t* address, size_t* bytes) {
  Status status = kSuccess;
  Session* session = session_of(device, &status);
  Block block;
  if (!session || !find_variable(image, name, *session, device, &block, &status)) return status;
  if (address) *address = block.address;
  if (bytes) *bytes = block.bytes;
  return kSuccess;
}

void forget_variables(const ModuleImage& image) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  for (auto one = all.by_name.begin(); one != all.by_name.end();) {
    if (one->first.image != &image) {
      ++one;
      continue;
    }
    all.by_address.erase(one->second.block.address);
    one = all.by_name.erase(one);
  }
  all.count.store(all.by_address.size(), std::memory_order_release);
}

Session* variable_range(uint64_t address, uint64_t bytes, Block* out) {
  Variables& all = variables();
  if (!all.count.load(std::memory_order_acquire)) return nullptr;
  const std::shared_lock lock(all.mutex);
  auto after = all.by_address.upper_bound(address);
  if (after == all.by_address.begin()) return nullptr;
  const Found& found = std::prev(after)->second;
  const uint64_t offset = address - found.block.address;
  if (offset >= found.block.bytes || bytes > found.block.bytes - offset) return nullptr;
  if (out) *out = found.block;
  return found.session;
}

void add_variables(const Session& session, std::vector<ops::LiveBlock>* live) {
  Variables& all = variables();
  if (!all.count.load(std::memory_order_acquire)) return;
  const std::shared_lock lock(all.mutex);
  for (const auto& [address, one] : all.by_address)
    if (one.session == &session) live->push_back({one.block.address, one.block.bytes, one.block.ordinal});
}

}  // namespace jitc::api
