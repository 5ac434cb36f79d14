// See split.h.
#include "split.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "error.h"
#include "operands.h"

namespace jitc::device {
namespace {
/// Returns an id that is equal on all members and never used twice: it contains the sequence of the split op
/// on the parent's first rank, and so is the same when the op is replayed.
std::array<uint8_t, 128> derived_id(const std::array<uint8_t, 128>& parent, uint64_t sequence,
                                    int32_t color) {
  std::array<uint8_t, 128 + sizeof sequence + sizeof color> source;
  std::memcpy(source.data(), parent.data(), 128);
  std::memcpy(source.data() + 128, &sequence, sizeof sequence);
  std::memcpy(source.data() + 128 + sizeof sequence, &color, sizeof color);
  std::array<uint8_t, 128> id;
  for (size_t part = 0; part < id.size() / 16; ++part) {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(source.data(), source.size(), part);
    std::memcpy(id.data() + part * 16, &hash, sizeof hash);
  }
  return id;
}
}  // namespace

Resources::Communicator split_identity(const Resources::Communicator& parent,
                                       std::span<const SplitPost> posts, uint64_t handle, int32_t color) {
  std::vector<int32_t> members;  // ranks in the parent
  for (size_t rank = 0; rank < posts.size(); ++rank)
    if (posts[rank].color == color) members.push_back(static_cast<int32_t>(rank));
  std::stable_sort(members.begin(), members.end(), [&](int32_t a, int32_t b) {
    return posts[static_cast<size_t>(a)].key < posts[static_cast<size_t>(b)].key;
  });
  const auto self = std::find(members.begin(), members.end(), parent.rank);
  return {handle, static_cast<int32_t>(members.size()), static_cast<int32_t>(self - members.begin()),
          derived_id(parent.unique_id, posts.front().sequence, color)};
}

void refuse_late(std::span<const uint32_t> ranks, double seconds) {
  std::string list;
  for (const uint32_t rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  refuse(kExternalDevice, kCommunicatorEnded,
         "rank " + list + " of the communicator did not split it within " +
             std::to_string(static_cast<int64_t>(seconds)) + " s (--hang-seconds)");
}

std::vector<std::byte> split_result(const Resources::Communicator& identity) {
  const auto payload = packed(identity.ranks, identity.rank);
  return {payload.begin(), payload.end()};
}

}  // namespace jitc::device
