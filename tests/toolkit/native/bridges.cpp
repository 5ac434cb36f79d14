// See bridges.h.
#include "bridges.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "cases.h"

namespace jitc::test {
namespace {
void check(int code) {
  if (code < 0) throw Failure{jitc_bridge_message()};
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::string text;
  for (const auto& one : values) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return "[" + text + "]";
}

std::string description(const Bridges::Communicator& one, size_t node) {
  std::map<uint32_t, std::vector<uint32_t>> ranks;
  for (uint32_t rank = 0; rank < one.ranks; ++rank) ranks[one.nodes[rank]].push_back(rank);
  std::string there;
  for (const auto& [other, its] : ranks)
    if (other != node)
      there += std::string(there.empty() ? "" : ", ") + R"({"peer": )" + std::to_string(other) +
               R"(, "ranks": )" + list(its) + "}";
  return R"({"link": )" + std::to_string(one.link) + R"(, "kind": ")" + one.device + R"(", "path": ")" +
         one.paths[node] + R"(", "bytes": )" + std::to_string(one.bytes) + R"(, "identity": )" +
         std::to_string(one.identity) + R"(, "ranks": )" + std::to_string(one.ranks) + R"(, "here": )" +
         list(ranks[static_cast<uint32_t>(node)]) + R"(, "elsewhere": [)" + there + "]}";
}
}  // namespace

std::string memory_file(uint64_t bytes) {
  const int file = memfd_create("jitc-test", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw Failure{"memfd"};
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
}

Bridges::Node::Node(const std::string& path)
    : path(path), board(path), bridge(jitc_bridge_create(path.c_str())) {
  if (!bridge) throw Failure{jitc_bridge_message()};
}

Bridges::Bridges(size_t nodes) {
  for (size_t node = 0; node < nodes; ++node)
    nodes_.push_back(std::make_unique<Node>(memory_file(Board::kBytes)));
}

Bridges::Bridges(const std::vector<std::string>& boards) {
  for (const std::string& path : boards) nodes_.push_back(std::make_unique<Node>(path));
}

Bridges::~Bridges() { stop(); }

void Bridges::link(const Communicator& one, size_t node) {
  check(jitc_bridge_link(nodes_[node]->bridge, description(one, node).c_str()));
}

void Bridges::link(const Communicator& one) {
  for (size_t node = 0; node < size(); ++node)
    if (std::ranges::count(one.nodes, static_cast<uint32_t>(node)) != 0) link(one, node);
}

Bytes Bridges::collect(size_t from, size_t to, size_t room) const {
  Bytes bytes(room);
  const int64_t size =
      jitc_bridge_collect(nodes_[from]->bridge, static_cast<uint32_t>(to), bytes.data(), room, 0);
  if (size < 0) throw Failure{jitc_bridge_message()};
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

void Bridges::apply(size_t from, size_t to, const Bytes& bytes) const {
  check(jitc_bridge_apply(nodes_[to]->bridge, static_cast<uint32_t>(from), bytes.data(), bytes.size()));
}

void Bridges::carry_all(size_t room) const {
  for (bool more = true; more;) {
    more = false;
    for (size_t from = 0; from < size(); ++from)
      for (size_t to = 0; to < size(); ++to) {
        if (from == to) continue;
        const Bytes bytes = collect(from, to, room);
        apply(from, to, bytes);
        more = more || !bytes.empty();
      }
  }
}

void Bridges::start(size_t room) {
  for (size_t from = 0; from < size(); ++from)
    for (size_t to = 0; to < size(); ++to)
      if (from != to) carriers_.push_back(std::make_unique<Carrier>(from, to));
  for (const auto& carrier : carriers_)
    carrier->thread = std::thread([this, room, &one = *carrier] {
      Bytes bytes(room);
      while (!one.over) {
        const int64_t size = jitc_bridge_collect(nodes_[one.from]->bridge, static_cast<uint32_t>(one.to),
                                                 bytes.data(), room, 50);
        const int code = size <= 0
                             ? static_cast<int>(size)
                             : jitc_bridge_apply(nodes_[one.to]->bridge, static_cast<uint32_t>(one.from),
                                                 bytes.data(), static_cast<size_t>(size));
        if (code >= 0) continue;
        std::cerr << "a bridge: " << jitc_bridge_message() << std::endl;
        std::abort();
      }
    });
}

void Bridges::end(const std::function<bool(const Carrier&)>& which) {
  for (const auto& one : carriers_)
    if (which(*one)) one->over = true;
  for (const auto& one : carriers_)
    if (one->over && one->thread.joinable()) one->thread.join();
}

void Bridges::stop() {
  end([](const Carrier&) { return true; });
  carriers_.clear();
}

void Bridges::cut(size_t one, size_t other, const std::string& why) {
  end([=](const Carrier& carrier) {
    return std::min(carrier.from, carrier.to) == std::min(one, other) &&
           std::max(carrier.from, carrier.to) == std::max(one, other);
  });
  check(jitc_bridge_cut(nodes_[one]->bridge, static_cast<uint32_t>(other), why.c_str()));
  check(jitc_bridge_cut(nodes_[other]->bridge, static_cast<uint32_t>(one), why.c_str()));
}

}  // namespace jitc::test
