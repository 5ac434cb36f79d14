// A table of resources that is given ops as the dispatcher gives them, and how its cases are named and
// checked.
#pragma once
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "base/checksum.h"
#include "executor/journal/wire.h"
#include "executor/state/images.h"
#include "executor/state/resources.h"
#include "jitc/limits.h"
#include "jitc/variable_alias.h"

namespace jitc {

/// By name; each is given a folder of its own.
using Cases = std::map<std::string, std::function<void(const std::string&)>>;
Cases limit_cases();

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) throw Error(std::string("line ") + std::to_string(__LINE__) + ": " #condition); \
  } while (false)

/// Knows nothing but that communicators are not split.
class NoBackend final : public Backend {
 public:
  void enqueue(const ops::OpHeader&) override {}
  Idle await_idle(std::optional<std::chrono::milliseconds>) override { return Idle::yes; }
  void fence() override {}
  void unfence() override {}
  bool restore(const Resources&, std::string&) override { return true; }
  void commit() override {}
  bool communicator(uint64_t, Resources::Communicator&) const override { return false; }
  bool read(uint64_t, std::span<std::byte>) const override { return false; }
  bool read_hashed(uint64_t, std::span<std::byte>, Hash&) const override { return false; }
  bool write(uint64_t, std::span<const std::byte>) override { return false; }
  void hash_all(std::span<const MemoryRange>, std::span<Hash>) const override {}
  void poison_all(std::span<const MemoryRange>) override {}
  uint64_t memory_used() const override { return 0; }
  uint64_t memory_total() const override { return 0; }
};

/// A table that is given ops as the dispatcher gives them.
class Bench {
 public:
  explicit Bench(const std::string& folder)
      : images(ImageStore::Place{folder, folder.empty() ? 0 : 64u << 20}, 1, false), table(images) {}

  template <class Op>
  uint64_t give(Op op, uint64_t stream = 0, std::string_view payload = {}, uint32_t status = 0,
                std::span<const std::byte> result = {}) {
    std::vector<std::byte> record((sizeof(op) + payload.size() + 7) / 8 * 8);
    op.header = {static_cast<uint32_t>(record.size()), static_cast<uint16_t>(Op::kId), 0, stream, ++sequence};
    std::memcpy(record.data(), &op, sizeof(op));
    if (!payload.empty()) std::memcpy(record.data() + sizeof(op), payload.data(), payload.size());
    table.apply(*reinterpret_cast<const ops::OpHeader*>(record.data()), status, result);
    return sequence;
  }
  void function(uint64_t module, uint64_t handle, std::string_view name, uint32_t status = 0) {
    ops::FunctionGet op;
    op.module = module;
    op.function = handle;
    op.bytes = name.size();
    give(op, 0, name, status);
  }
  void variable(uint64_t module, std::string_view name, uint64_t address, uint64_t bytes) {
    ops::VariableGet op;
    op.module = module;
    op.bytes = name.size();
    const uint64_t result[2] = {address, bytes};
    give(op, 0, name, 0, std::as_bytes(std::span(result)));
  }
  void alias(uint64_t module, std::string_view name, uint64_t alias, uint64_t bytes) {
    ops::VariableAlias op;
    op.module = module;
    op.alias = alias;
    op.bytes = name.size();
    give(op, 0, name, 0, std::as_bytes(std::span(&bytes, 1)));
  }
  void launch(uint64_t stream, uint64_t handle) {
    ops::KernelLaunch op;
    op.function = handle;
    op.parameters = 5;
    give(op, stream, "abcde");
  }
  Resources list() const { return table.list(backend); }

  NoBackend backend;
  ImageStore images;
  ResourceTable table;
  uint64_t sequence = 0;
};

template <class Op, class... Values>
Op with(Values... values) {
  Op op;
  const auto bytes = [&] {
    std::array<std::byte, (sizeof(Values) + ... + 0)> all;
    size_t at = 0;
    ((std::memcpy(all.data() + at, &values, sizeof values), at += sizeof values), ...);
    return all;
  }();
  static_assert(sizeof(bytes) <= sizeof(Op) - sizeof(ops::OpHeader));
  std::memcpy(reinterpret_cast<std::byte*>(&op) + sizeof(ops::OpHeader), bytes.data(), bytes.size());
  return op;
}

inline ImageHash hash_named(uint8_t value) {
  ImageHash hash{};
  hash[0] = value;
  return hash;
}

inline void load(Bench& bench, uint64_t module, uint8_t image, uint32_t status = 0) {
  ops::ModuleLoad op;
  op.module = module;
  op.hash = hash_named(image);
  op.bytes = 100;
  bench.give(op, 0, {}, status);
}

}  // namespace jitc
