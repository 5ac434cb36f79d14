// See harness.h.
#include "harness.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include "device/common/mirror/frames.h"
#include "device/devices.h"

namespace jitc::test {
namespace {
const Around kWithALimit([](const std::function<void()>& body) {
  alarm(3 * kLimitSeconds);
  body();
});
}  // namespace

Session::Session(CommunicatorSegments& segments, uint64_t slot) : OpClient(slot) {
  static NoImages no_images;
  BackendOptions wanted{};
  wanted.address_base = kBase + slot * kRange;
  wanted.address_bytes = kRange;
  wanted.memory_limit = uint64_t{1} << 30;
  wanted.threads = 1;
  std::string error;
  backend = make_software_backend(wanted, sink, segments, no_images, error);
  if (!backend) throw Failure{error};
}

Job::Job(size_t nodes, int ranks, size_t room) : bridges(nodes) {
  for (size_t node = 0; node < nodes; ++node) nodes_.push_back(std::make_unique<Node>(*this, node));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto slot = static_cast<size_t>(rank);
    sessions_.push_back(std::make_unique<Session>(*nodes_[slot % nodes], slot));
  }
  bridges.start(room);
}

Job::~Job() { sessions_.clear(); }

Bridges::Communicator Job::make(uint32_t ranks) { return make_segments(bridges, ranks, ++made_); }

CommunicatorSegment Job::join(size_t node, const std::array<uint8_t, 128>& id, uint32_t ranks,
                              uint32_t rank) {
  const std::lock_guard lock(mutex_);
  auto found = known_.find(id);
  if (found == known_.end()) {
    found = known_.emplace(id, make(ranks)).first;
    found->second.nodes.assign(ranks, UINT32_MAX);
  }
  Bridges::Communicator& one = found->second;
  const bool had_all = std::ranges::count(one.nodes, UINT32_MAX) == 0;
  one.nodes[rank] = static_cast<uint32_t>(node);
  const bool spread = std::ranges::count(one.nodes, one.nodes[rank]) != static_cast<ptrdiff_t>(ranks);
  if (!had_all && std::ranges::count(one.nodes, UINT32_MAX) == 0 && spread) {
    bridges.link(one);
    ++linked_;
  }
  CommunicatorSegment segment;
  segment.file = std::make_shared<OpenFile>(one.paths[node]);
  segment.bytes = one.bytes;
  segment.identity = one.identity;
  segment.bridge = &bridges.board(node).bridge();
  return segment;
}

void Job::end(uint8_t id, uint32_t rank, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const Bridges::Communicator& one = known_.at(unique_id(id));
  std::string error;
  if (!mark_absent(one.paths[one.nodes[rank]], rank, why, error)) throw Failure{error};
}

size_t Job::links() const {
  const std::lock_guard lock(mutex_);
  return linked_;
}

void Job::run(const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> thrown(sessions_.size());
  for (int rank = 0; rank < ranks(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        thrown[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

void Job::join() {
  run([&](int rank) { join_communicator((*this)[rank], 1, ranks(), rank, kComm); });
}

Bridges::Communicator make_segments(const Bridges& bridges, uint32_t ranks, uint64_t link,
                                    const std::string& device) {
  Bridges::Communicator one;
  one.link = link;
  one.device = device;
  one.ranks = ranks;
  one.bytes = segment_bytes(ranks);
  one.identity = link * 1000 + 1;
  for (size_t node = 0; node < bridges.size(); ++node) {
    one.paths.push_back(memory_file(one.bytes));
    std::string error;
    if (!mark_segment(one.paths.back(), one.identity, error)) throw Failure{error};
  }
  for (uint32_t rank = 0; rank < ranks; ++rank)
    one.nodes.push_back(rank % static_cast<uint32_t>(bridges.size()));
  return one;
}

void drop_segments(const Bridges::Communicator& one) {
  for (const std::string& path : one.paths) close(std::stoi(path.substr(path.rfind('/') + 1)));
}

std::vector<SomeFrame> frames_of(const Bytes& bytes) {
  std::vector<SomeFrame> found;
  device::FrameReader reader(std::as_bytes(std::span(bytes)));
  while (const auto frame = reader.next()) {
    const auto* const first = reinterpret_cast<const uint8_t*>(frame->payload.data());
    found.push_back(
        {static_cast<uint8_t>(frame->kind), frame->subject, {first, first + frame->payload.size()}});
  }
  return found;
}

Bytes bytes_of(const std::vector<SomeFrame>& frames) {
  Bytes bytes;
  for (const SomeFrame& frame : frames) {
    device::FrameHead head;
    head.kind = frame.kind;
    head.bytes = static_cast<uint32_t>(frame.payload.size());
    head.subject = frame.subject;
    const auto* const first = reinterpret_cast<const uint8_t*>(&head);
    bytes.insert(bytes.end(), first, first + sizeof head);
    bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  }
  return bytes;
}

std::vector<uint8_t> kinds_of(const Bytes& bytes) {
  std::vector<uint8_t> kinds;
  for (const SomeFrame& frame : frames_of(bytes)) kinds.push_back(frame.kind);
  return kinds;
}

std::string stats(const Bridges& bridges, size_t node) {
  char* document = nullptr;
  if (jitc_bridge_counters(bridges[node], &document) < 0) throw Failure{jitc_bridge_message()};
  const std::string text = document;
  jitc_bridge_release(document);
  return text;
}

void check_refused(int64_t code, const std::string& part) {
  CHECK_EQUAL(code, int64_t{-1});
  if (!contains(jitc_bridge_message(), part)) throw Failure{jitc_bridge_message()};
}

}  // namespace jitc::test
