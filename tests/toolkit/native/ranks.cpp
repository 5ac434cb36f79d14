// See ranks.h.
#include "ranks.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "bridge_server.h"
#include "bridges.h"
#include "device/common/shared_segment.h"

namespace jitc::test {
namespace {
constexpr uint64_t kSegmentBytes = 256u
                                   << 20;  // more than any device wants; nothing is used before it is touched

void* shared_memory(size_t bytes) {
  void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) throw Failure{"mmap"};
  return got;
}
}  // namespace

Segments::Segments() : bridges_(BridgeServer::of_environment(kSegmentBytes)) {}

Segments::~Segments() = default;

Segments::Places Segments::make_places() const {
  Places places(bridges_ ? bridges_->nodes() : 1);
  for (std::string& path : places) path = memory_file(kSegmentBytes);
  return places;
}

const std::string& Segments::place_of(const Places& places, uint32_t rank) const {
  return places[rank % places.size()];
}

void Segments::make(const std::array<uint8_t, 128>& id, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) known_[{id, epoch}] = make_places();
}

void Segments::make_spares(size_t count) {
  for (size_t i = 0; i < count; ++i) spares_.push_back(make_places());
  void* const shared = shared_memory(4096 + count * sizeof(Entry));
  lock_ = static_cast<std::atomic<uint32_t>*>(shared);
  table_ = reinterpret_cast<Entry*>(static_cast<std::byte*>(shared) + 4096);
}

CommunicatorSegment Segments::join(const std::array<uint8_t, 128>& id, uint32_t ranks, uint32_t rank) {
  ++asked_;
  CommunicatorSegment segment;
  const bool misled = misled_ > 0 && misled_-- > 0;
  segment.superseded = superseded_ && !misled;
  const Places places = segment.superseded ? Places() : find(id);
  if (!places.empty()) segment.file = std::make_shared<OpenFile>(place_of(places, rank));
  if (!places.empty() && bridges_ && !misled) segment.bridge = bridges_->join(places, ranks, rank);
  segment.bytes = kSegmentBytes;
  segment.status = 999;
  segment.error = "nobody knows this communicator";
  if (!misled) return segment;
  if (!wrong_path_.empty()) segment.file = std::make_shared<OpenFile>(wrong_path_);
  segment.identity = wrong_identity_;
  return segment;
}

void Segments::mislead(int times, const std::string& path, uint64_t identity) {
  wrong_path_ = path;
  wrong_identity_ = identity;
  misled_ = times;
}

void Segments::absent(const std::array<uint8_t, 128>& id, uint32_t rank, const std::string& why) {
  std::string error;
  if (!device::mark_absent(place_of(find(id), rank), rank, why, error)) throw Failure{error};
}

bool Segments::blank(const std::array<uint8_t, 128>& id) {
  std::vector<char> content(1u << 20);
  std::ifstream(find(id).front(), std::ios::binary)
      .read(content.data(), static_cast<std::streamsize>(content.size()));
  return std::all_of(content.begin(), content.end(), [](char byte) { return byte == 0; });
}

Segments::Places Segments::find(const std::array<uint8_t, 128>& id) {
  const int epoch = epoch_;
  if (const auto found = known_.find({id, epoch}); found != known_.end()) return found->second;
  Places places;
  if (table_) {
    while (lock_->exchange(1)) std::this_thread::yield();
    for (size_t i = 0; i < spares_.size() && places.empty(); ++i) {
      if (table_[i].used && (table_[i].id != id || table_[i].epoch != epoch)) continue;
      table_[i] = {id, epoch, 1};
      places = spares_[i];
    }
    lock_->store(0);
  }
  return places;
}

std::array<uint8_t, 128> unique_id(uint8_t value) {
  std::array<uint8_t, 128> id{};
  id.fill(value);
  return id;
}

uint64_t create_communicator(Client& client, uint8_t id, int ranks, int rank, uint64_t handle) {
  ops::CommunicatorCreate op;
  op.handle = handle;
  op.ranks = ranks;
  op.rank = rank;
  op.unique_id = unique_id(id);
  return client.give(op);
}

uint64_t join_communicator(Client& client, uint8_t id, int ranks, int rank, uint64_t handle) {
  const Reply reply = client.sink.wait_result(create_communicator(client, id, ranks, rank, handle));
  if (reply.status != 0) throw Failure{"communicator: " + reply.text()};
  return handle;
}

void destroy_communicator(Client& client, uint64_t handle) {
  ops::CommunicatorDestroy op;
  op.handle = handle;
  client.give(op);
}

void run_ranks(int ranks, const std::function<void(int rank)>& body, int killed) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(static_cast<unsigned>(kLimitSeconds) + 30);
      std::exit(run_case("rank " + std::to_string(rank), [&] { body(rank); }));
    }
    children.push_back(child);
  }
  bool failed = false;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    waitpid(children[static_cast<size_t>(rank)], &status, 0);
    if (rank == killed)
      failed |= !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    else
      failed |= !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  if (failed) throw Failure{"a rank failed"};
}

SharedNumber::SharedNumber() : number_(new (shared_memory(4096)) std::atomic<int>(0)) {}
SharedNumber::~SharedNumber() { munmap(number_, 4096); }

void SharedNumber::wait_for(int least) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(kLimitSeconds);
  while (number_->load() < least) {
    if (std::chrono::steady_clock::now() > until) throw Failure{"timed out: another process"};
    std::this_thread::yield();
  }
}

}  // namespace jitc::test
