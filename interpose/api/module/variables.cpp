#include "variables.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <shared_mutex>
#include <tuple>

#include "jitc/packed_reader.h"
#include "jitc/variable_alias.h"
#include "session/message.h"

namespace jitc::api {
namespace {

constexpr uint64_t kPage = 4096;
/// First ordinal of variables, above any of an allocation.
constexpr uint64_t kFirstOrdinal = uint64_t{1} << 62;

/// Possible target of a pointer.
struct Place {
  Session* session;
  Block block;
};
struct Found {
  Session* session;
  Block block;        // as ops name it: at its alias, or at the address known to the program
  uint64_t told = 0;  // its address, if the program has requested it
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
  std::map<uint64_t, Place> by_address;  // aliases too
  std::set<uint64_t> pages;              // of this process, kept free
  std::atomic<size_t> count{0};          // of by_address, so that a program without variables takes no lock
  OnceLatch latch;                       // guards what follows
  uint64_t aliases = 0;                  // given
};
Variables& variables() {
  static auto& out = *new Variables;
  return out;
}

/// Mixes data into the hash: FNV-1a, 64 bit.
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

/// Reserves the variable's addresses in this process, or a pointer would be ambiguous. Requires the lock.
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

/// Requests that the worker has the variable behind an alias from then on.
Status ask_by_alias(ops::VariableAlias op, const std::string& name, Session& session, Block* out) {
  op.alias = kFirstAlias + variables().aliases++ * kAliasSpace;
  op.bytes = name.size();
  const session::Result result = session.call(op, std::as_bytes(std::span(name)));
  if (result.status) return from_result(result.status);
  out->address = op.alias;
  return unpack(result.payload, &out->bytes) ? kSuccess : kUnknown;
}

/// Requests the variable's address from the worker.
Status ask_address(ops::VariableGet op, const std::string& name, Session& session, Block* out) {
  op.bytes = name.size();
  const session::Result result = session.call(op, std::as_bytes(std::span(name)));
  if (result.status) return from_result(result.status);
  std::array<uint64_t, 2> answer;  // address, bytes
  if (!unpack(result.payload, &answer)) return kUnknown;
  std::tie(out->address, out->bytes) = std::tie(answer[0], answer[1]);
  return kSuccess;
}

Status ask(ModuleImage& image, const std::string& name, Session& session, int device, Wanted wanted,
           Block* out) {
  Status status = kSuccess;
  const uint64_t module = image.module_on(session, device, &status);
  if (!module) return status;
  out->ordinal = ordinal_of(image, name);
  return wanted == Wanted::address ? ask_address({.module = module}, name, session, out)
                                   : ask_by_alias({.module = module}, name, session, out);
}

bool known(const Key& key, Wanted wanted, Block* out) {
  Variables& all = variables();
  const std::shared_lock lock(all.mutex);
  const auto found = all.by_name.find(key);
  if (found == all.by_name.end() || (wanted == Wanted::address && !found->second.told)) return false;
  *out = found->second.block;
  if (wanted == Wanted::address) out->address = found->second.told;
  return true;
}

/// Returns a free ordinal: the same module may be loaded twice, with consecutive ordinals. Requires the lock.
uint64_t free_ordinal(const Variables& all, const Session& session, uint64_t ordinal) {
  const auto taken = [&](const auto& entry) {
    return entry.second.session == &session && entry.second.block.ordinal == ordinal;
  };
  while (std::ranges::any_of(all.by_name, taken)) ++ordinal;
  return ordinal;
}

Status remember(const Key& key, Session& session, Wanted wanted, Block block) {
  Variables& all = variables();
  const std::lock_guard lock(all.mutex);
  const bool told = wanted == Wanted::address;
  if (told && !keep_free(all, block.address, block.bytes)) {
    session::message_once("the device variable " + key.name +
                          " lies at an address that this process uses for something else: it is refused; "
                          "start the program again");
    return kNotSupported;
  }
  auto found = all.by_name.find(key);
  if (found == all.by_name.end()) {
    block.ordinal = free_ordinal(all, session, block.ordinal);
    found = all.by_name.emplace(key, Found{&session, block}).first;
  }
  block.ordinal = found->second.block.ordinal;
  if (told) found->second.told = block.address;
  all.by_address[block.address] = {&session, block};
  all.count.store(all.by_address.size(), std::memory_order_release);
  return kSuccess;
}

}  // namespace

bool find_variable(ModuleImage& image, const std::string& name, Session& session, int device, Wanted wanted,
                   Block* out, Status* why) {
  const Key key{&image, device, name};
  if (known(key, wanted, out)) return true;
  const std::lock_guard making(variables().latch);
  if (known(key, wanted, out)) return true;
  *why = ask(image, name, session, device, wanted, out);
  if (!*why) *why = remember(key, session, wanted, *out);
  return !*why;
}

Status get_variable(ModuleImage& image, const char* name, int device, uint64_t* address, size_t* bytes) {
  Status status = kSuccess;
  Session* session = session_of(device, &status);
  Block block;
  const Wanted wanted = address ? Wanted::address : Wanted::content;
  if (!session || !find_variable(image, name, *session, device, wanted, &block, &status)) return status;
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
    all.by_address.erase(one->second.told);
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
  const Place& found = std::prev(after)->second;
  const uint64_t offset = address - found.block.address;
  if (offset >= found.block.bytes || bytes > found.block.bytes - offset) return nullptr;
  if (out) *out = found.block;
  return found.session;
}

void add_variables(const Session& session, std::vector<ops::LiveBlock>* live) {
  Variables& all = variables();
  if (!all.count.load(std::memory_order_acquire)) return;
  const std::shared_lock lock(all.mutex);
  for (const auto& [key, one] : all.by_name)
    if (one.session == &session) live->push_back({one.block.address, one.block.bytes, one.block.ordinal});
}

}  // namespace jitc::api
