// See bridge_server.h.
#include "bridge_server.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "bridges.h"
#include "cases.h"

namespace jitc::test {

std::unique_ptr<BridgeServer> BridgeServer::of_environment(uint64_t segment_bytes) {
  const char* const said = std::getenv("JITC_TEST_NODES");
  const size_t nodes = said ? std::strtoul(said, nullptr, 10) : 1;
  if (nodes < 2) return nullptr;
  if (nodes > kNodes) throw Failure{"JITC_TEST_NODES is too large"};
  return std::unique_ptr<BridgeServer>(new BridgeServer(nodes, segment_bytes));
}

BridgeServer::BridgeServer(size_t nodes, uint64_t segment_bytes)
    : segment_bytes_(segment_bytes), maker_(getpid()) {
  std::vector<std::string> paths;
  for (size_t node = 0; node < nodes; ++node) paths.push_back(memory_file(Board::kBytes));
  for (const std::string& path : paths) boards_.push_back(std::make_unique<Board>(path));
  void* const shared =
      mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Failure{"mmap"};
  table_ = static_cast<Table*>(shared);
  server_ = fork();
  if (server_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != maker_) _exit(1);
  _exit(run_case("the bridges", [&] { serve(paths); }));
}

BridgeServer::~BridgeServer() {
  if (getpid() == maker_) {
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }
  munmap(table_, sizeof(Table));
}

Doorbell* BridgeServer::join(const std::vector<std::string>& paths, uint32_t ranks, uint32_t rank) {
  while (table_->lock.exchange(1)) std::this_thread::yield();
  const uint32_t count = table_->count;
  bool known = false;
  for (uint32_t i = 0; i < count; ++i) known = known || paths[0] == table_->entries[i].paths[0];
  if (!known && count < kCommunicators) {
    Entry& entry = table_->entries[count];
    entry.ranks = ranks;
    for (size_t node = 0; node < paths.size(); ++node)
      paths[node].copy(entry.paths[node], sizeof entry.paths[node] - 1);
    table_->count = count + 1;
    table_->doorbell.ring();
  }
  table_->lock = 0;
  return &boards_[rank % nodes()]->job.bridge();
}

void BridgeServer::serve(const std::vector<std::string>& boards) const {
  Bridges bridges(boards);
  bridges.start();
  const char* const device = std::getenv("JITC_TEST_DEVICE");
  for (uint32_t linked = 0;;) {
    const uint32_t seen = table_->doorbell.rung();
    if (linked == table_->count) {
      table_->doorbell.sleep(seen, 1'000'000);
      continue;
    }
    const Entry& entry = table_->entries[linked++];
    Bridges::Communicator one;
    one.link = linked;
    one.device = device ? device : "software";
    one.ranks = entry.ranks;
    one.bytes = segment_bytes_;
    for (size_t node = 0; node < nodes(); ++node) one.paths.emplace_back(entry.paths[node]);
    for (uint32_t rank = 0; rank < entry.ranks; ++rank)
      one.nodes.push_back(rank % static_cast<uint32_t>(nodes()));
    if (entry.ranks > 1) bridges.link(one);
  }
}

}  // namespace jitc::test
