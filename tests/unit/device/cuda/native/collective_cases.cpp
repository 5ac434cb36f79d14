// Collectives: what only the cuda device has, on the fake NCCL. Each rank is a process of its own.
#include <cstdlib>

#include "harness.h"
#include "ranks.h"

namespace jitc::test {
namespace {
/// A session of one rank, on a host of its own as far as NCCL can tell: all use one GPU.
class Rank : public Session {
 public:
  Rank(Segments& segments, int rank) : Session(options(segments, rank)) {}
  static Options options(Segments& segments, int rank, double hang_seconds = 0) {
    setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
    Options options;
    options.segments = &segments;
    options.hang_seconds = hang_seconds;
    return options;
  }
};
}  // namespace

CASE(collective_two_ranks_on_one_gpu_of_one_host) {
  Segments segments;
  segments.make(unique_id(1));
  run_ranks(2, [&](int rank) {
    Rank s(segments, 7);
    ops::CommunicatorCreate create;
    create.handle = 0x500;
    create.ranks = 2;
    create.rank = rank;
    create.unique_id = unique_id(1);
    const Reply reply = s.ask(create);
    CHECK_EQUAL(reply.status, 1u);
    CHECK(reply.text().find("Duplicate GPU") != std::string::npos);
  });
}

}  // namespace jitc::test
