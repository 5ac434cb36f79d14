// See nccl_bootstrap.h.
#include "nccl_bootstrap.h"

#include <sys/random.h>

#include <cstring>

namespace jitc::cuda {
namespace {
constexpr uint64_t kMagic = 0x6a6974636d656574;  // changes with the layout
}  // namespace

uint64_t NcclBootstrap::content(uint32_t ranks) { return sizeof(Head) + uint64_t{ranks} * sizeof(RankSlot); }

bool NcclBootstrap::map(const std::string& path, uint64_t size, std::string& error) {
  return memory_.map(path, size, content(ranks_), error);
}

uint64_t NcclBootstrap::fresh_token() {
  uint64_t token = kNobody;
  while (token == kNobody || token == kRefused)
    if (getrandom(&token, sizeof token, 0) != sizeof token) token = kNobody;
  return token;
}

void NcclBootstrap::arrive(uint64_t token) {
  slot(rank_).token.store(token);
  ring_all();
}

void NcclBootstrap::leave(uint64_t token) {
  if (slot(rank_).token.compare_exchange_strong(token, 0)) ring_all();
}

void NcclBootstrap::refuse_absent() const {
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if (memory_.absent(rank)) memory_.refuse_absent();
}

bool NcclBootstrap::refused() const {
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if (slot(rank).token.load() == kRefused) return true;
  return false;
}

std::optional<std::vector<uint64_t>> NcclBootstrap::present() const {
  std::vector<uint64_t> tokens(ranks_);
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if ((tokens[rank] = slot(rank).token.load()) == 0) return std::nullopt;
  return tokens;
}

void NcclBootstrap::want() {
  if (head().wanted.exchange(1) == 0) ring_all();
}
bool NcclBootstrap::wanted() const { return head().wanted.load() != 0; }

void NcclBootstrap::publish(const NcclUniqueId& id, const std::vector<uint64_t>& tokens) {
  show((head().edition.load() | 1) + 1, id, tokens);
  ring_all();
}

void NcclBootstrap::show(uint64_t edition, const NcclUniqueId& id, std::span<const uint64_t> tokens) const {
  Head& to = head();
  to.edition.store(edition - 1);
  to.magic.store(kMagic);
  for (size_t i = 0; i < to.id.size(); ++i) {
    uint64_t word;
    std::memcpy(&word, id.internal + i * 8, 8);
    to.id[i].store(word);
  }
  for (uint32_t rank = 0; rank < ranks_; ++rank) slot(rank).published_for.store(tokens[rank]);
  to.edition.store(edition);
}

bool NcclBootstrap::read(uint64_t token, NcclUniqueId& id, std::vector<uint64_t>& tokens) const {
  uint64_t edition = 0;
  return shown(edition, id, tokens) && tokens[rank_] == token;
}

bool NcclBootstrap::shown(uint64_t& edition, NcclUniqueId& id, std::vector<uint64_t>& tokens) const {
  const Head& from = head();
  edition = from.edition.load();
  if (edition == 0 || edition % 2 == 1 || from.magic.load() != kMagic) return false;
  for (size_t i = 0; i < from.id.size(); ++i) {
    const uint64_t word = from.id[i].load();
    std::memcpy(id.internal + i * 8, &word, 8);
  }
  tokens.resize(ranks_);
  for (uint32_t rank = 0; rank < ranks_; ++rank) tokens[rank] = slot(rank).published_for.load();
  return from.edition.load() == edition;
}

uint64_t NcclBootstrap::post(const SplitPost& post) {
  RankSlot& own = slot(rank_);
  const uint64_t posted = own.round.load();
  if (posted > 0 && own.boxes[(posted - 1) % 2].sequence.load() == post.sequence) return posted - 1;
  Box& box = own.boxes[posted % 2];
  const auto color = static_cast<uint32_t>(post.color), key = static_cast<uint32_t>(post.key);
  box.color_and_key.store(uint64_t{color} << 32 | key);
  box.sequence.store(post.sequence);
  own.round.store(posted + 1);
  ring_all();
  return posted;
}

std::vector<uint32_t> NcclBootstrap::missing(uint64_t round) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if (slot(rank).round.load() <= round) ranks.push_back(rank);
  return ranks;
}

SplitPost NcclBootstrap::post_of(uint32_t rank, uint64_t round) const {
  const Box& box = slot(rank).boxes[round % 2];
  const uint64_t both = box.color_and_key.load();
  return {static_cast<int32_t>(both >> 32), static_cast<int32_t>(both & UINT32_MAX), box.sequence.load()};
}

void NcclBootstrap::ring_all() const {
  for (uint32_t rank = 0; rank < ranks_; ++rank) slot(rank).doorbell.ring();
  memory_.ring_bridge();
}

}  // namespace jitc::cuda
