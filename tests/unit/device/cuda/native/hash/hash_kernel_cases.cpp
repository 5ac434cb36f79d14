// The content hash itself: what it tells apart, and that the GPU's kernel, run by the CPU, gives what the
// host gives.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "cases.h"
#include "content.h"
#include "device/poison.h"
#include "hash_on_host.h"

namespace jitc::test {
namespace {

using fakes::HashShape;
using fakes::HashSum;
constexpr uint64_t kPiece = uint64_t{32} * content::kStripe;

std::vector<Hash> by_kernel(const std::vector<std::span<const std::byte>>& blocks, HashShape shape) {
  std::vector<fakes::HashRange> ranges;
  uint64_t pieces = 0;
  for (const auto block : blocks) {
    ranges.push_back({reinterpret_cast<uint64_t>(block.data()), block.size(), pieces});
    pieces += (block.size() + kPiece - 1) / kPiece;
  }
  std::vector<HashSum> sums(blocks.size());
  hash_on_host(shape, ranges.data(), static_cast<unsigned>(ranges.size()), pieces, sums.data());
  std::vector<Hash> hashes;
  for (size_t i = 0; i < blocks.size(); ++i)
    hashes.push_back(content_hash_of({sums[i].a, sums[i].b}, blocks[i].size()));
  return hashes;
}

void check_kernel(const std::vector<std::span<const std::byte>>& blocks, HashShape shape) {
  const auto hashes = by_kernel(blocks, shape);
  for (size_t i = 0; i < blocks.size(); ++i) CHECK(hashes[i] == content_hash(blocks[i]));
}

/// Around everything that the arithmetic has a border at.
std::vector<size_t> sizes() {
  std::vector<size_t> all;
  for (size_t i = 0; i <= 70; ++i) all.push_back(i);
  for (const size_t border : {size_t{512}, size_t{4096}, size_t{8192}, size_t{kPiece}, size_t{2 * kPiece}})
    for (const size_t more : {-17, -16, -15, -1, 0, 1, 15, 16, 17}) all.push_back(border + more);
  all.push_back(3 * kPiece + 12345);
  return all;
}

/// Two pages that cannot be touched, and room between them.
class Fenced {
 public:
  explicit Fenced(size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
    void* const all = mmap(nullptr, bytes_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    begin_ = static_cast<std::byte*>(all) + kPage;
    CHECK_EQUAL(mprotect(begin_, bytes_, PROT_READ | PROT_WRITE), 0);
  }
  ~Fenced() { munmap(begin_ - kPage, bytes_ + 2 * kPage); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::byte* begin() const { return begin_; }
  std::byte* end() const { return begin_ + bytes_; }

 private:
  static constexpr size_t kPage = 4096;
  const size_t bytes_;
  std::byte* begin_ = nullptr;
};

}  // namespace

CASE(hash_kernel_gives_what_the_host_gives) {
  const Content data = random_content(4 * kPiece);
  const auto first = (16 - reinterpret_cast<uintptr_t>(data.data()) % 16) % 16;
  std::vector<std::span<const std::byte>> blocks;
  size_t turn = 0;
  for (const size_t bytes : sizes())  // with each size an aligned block, and one that begins anywhere
    for (const size_t offset : {first, first + 1 + ++turn % 20})
      blocks.push_back({data.data() + offset, bytes});
  for (const HashShape shape : {HashShape{1, 32}, {1, 256}, {3, 64}, {40, 256}}) check_kernel(blocks, shape);
}

CASE(hash_kernel_takes_every_alignment) {
  const Content data = random_content(12000, 2);
  for (size_t offset = 0; offset < 40; ++offset)
    for (const size_t bytes : {1, 7, 100, 4096, 9001}) check_kernel({{data.data() + offset, bytes}}, {2, 64});
}

CASE(hash_kernel_finds_its_range_among_many) {
  const Content data = random_content(1 << 20, 3);
  std::vector<std::span<const std::byte>> blocks;
  for (size_t i = 0; i < 500; ++i)  // some of them empty, also the first ones and the last one
    blocks.push_back({data.data() + i * 1000, i % 3 ? i * 37 % 9000 : 0});
  blocks.push_back({data.data(), data.size()});
  blocks.push_back({});
  check_kernel(blocks, {5, 128});
}

CASE(hash_reads_nothing_beyond_its_block) {
  const Fenced memory(2 * content::kStripe);
  for (const size_t bytes : {1, 5, 8, 15, 16, 17, 511, 4095, 4096, 4097, 8190, 8192}) {
    const std::span<const std::byte> at_begin(memory.begin(), bytes), at_end(memory.end() - bytes, bytes);
    check_kernel({at_begin, at_end}, {1, 64});
    CHECK(content_hash(at_begin) == content_hash(at_end));
  }
}

/// Around the memory of a range nothing changes, wherever in a word it begins and ends.
CASE(poison_kernel_fills_what_the_host_fills) {
  constexpr uint64_t kAddress = 0x200000000000;  // as programs know it
  for (size_t offset = 0; offset < 10; ++offset) {
    for (const size_t bytes :
         {size_t{1}, size_t{7}, size_t{8}, size_t{9}, size_t{4099}, size_t{kPiece + 13}}) {
      Content by_kernel = random_content(bytes + 32, 7), by_host = by_kernel;
      const fakes::HashRange range{kAddress + offset, bytes, 0};
      fakes::poison_on_host({2, 64}, range, (bytes + kPiece - 1) / kPiece, by_kernel.data() + offset);
      poison(range.address, std::span(by_host).subspan(offset, bytes));
      CHECK(by_kernel == by_host);
      CHECK_EQUAL(poisoned(range.address, std::span(by_host).subspan(offset, bytes)),
                  bytes >= 15 || (bytes >= 8 && offset % 8 == 0) || (bytes == 9 && offset % 8 == 7));
    }
  }
}

CASE(hash_of_pieces_is_that_of_the_whole) {
  const Content data = random_content(5 * content::kStripe + 1234, 4);
  const std::span whole(data);
  for (const size_t stripes : {1, 2, 5}) {
    ContentHasher plain, portable;
    for (size_t at = 0; at < data.size(); at += stripes * content::kStripe) {
      const auto piece = whole.subspan(at, std::min(stripes * content::kStripe, data.size() - at));
      plain.add(piece);
      portable.add_portable(piece);
    }
    CHECK(plain.finish() == content_hash(data) && portable.finish() == content_hash(data));
  }
  for (const size_t bytes : sizes()) {
    ContentHasher portable;
    portable.add_portable(whole.first(std::min(bytes, data.size())));
    CHECK(portable.finish() == content_hash(whole.first(std::min(bytes, data.size()))));
  }
}

CASE(hash_tells_every_bit) {
  for (const Content& data : {random_content(600, 5), Content(600), random_content(4700, 6)}) {
    std::set<Hash> seen{content_hash(data)};
    Content changed = data;
    for (size_t bit = 0; bit < data.size() * 8; ++bit) {
      const auto mask = std::byte{1} << static_cast<int>(bit % 8);
      changed[bit / 8] ^= mask;
      CHECK(seen.insert(content_hash(changed)).second);
      changed[bit / 8] ^= mask;
    }
  }
}

/// Also where one key makes a product nothing: the other word is minus the key, and any change of its
/// neighbour is lost.
CASE(hash_tells_a_word_that_one_key_hides) {
  const content::KeyTable keys = content::key_table();
  for (const unsigned key : {0u, content::kSecond}) {
    Content data(4096), changed;
    const auto hidden = static_cast<uint32_t>(0 - (keys.at[key] >> 32));
    std::memcpy(data.data() + 4, &hidden, 4);
    changed = data;
    changed[0] = std::byte{1};
    CHECK(content_hash(data) != content_hash(changed));
  }
}

CASE(hash_tells_the_order) {
  const Content data = random_content(6 * content::kStripe, 7);
  std::set<Hash> seen{content_hash(data)};
  for (const size_t size : {4, 8, 16, 512, 4096, 8192}) {
    for (size_t at = 0; at + 2 * size <= data.size(); at += std::max<size_t>(2 * size, 1024)) {
      Content swapped = data;
      std::swap_ranges(swapped.begin() + static_cast<ptrdiff_t>(at),
                       swapped.begin() + static_cast<ptrdiff_t>(at + size),
                       swapped.begin() + static_cast<ptrdiff_t>(at + size));
      CHECK(seen.insert(content_hash(swapped)).second);
    }
  }
}

CASE(hash_tells_the_length) {
  const Content zeros(40000), ones(40000, std::byte{0xff});
  std::set<Hash> seen;
  for (size_t bytes = 0; bytes < zeros.size(); bytes += bytes < 5000 ? 1 : 997)
    CHECK(seen.insert(content_hash(std::span(zeros).first(bytes))).second);
  for (size_t bytes = 1; bytes < ones.size(); bytes += 997)
    CHECK(seen.insert(content_hash(std::span(ones).first(bytes))).second);
  CHECK(!seen.contains(kNoHash));
}

/// Half of the bits change, whatever changed: no lane is left out.
CASE(hash_changes_as_a_whole) {
  const Content data = random_content(9000, 8);
  const Hash before = content_hash(data);
  std::array<int, 128> flips{};
  for (int turn = 0; turn < 1000; ++turn) {
    Content changed = data;
    changed[static_cast<size_t>(turn) * 9] ^= std::byte{1} << turn % 8;
    const Hash after = content_hash(changed);
    for (size_t bit = 0; bit < 128; ++bit) flips[bit] += (before[bit / 8] ^ after[bit / 8]) >> bit % 8 & 1;
  }
  for (const int count : flips) CHECK(count > 400 && count < 600);
}

/// The definition: whoever changes it changes the journal's format (docs/journal.md).
CASE(hash_is_the_one_that_was_defined) {
  const auto of = [](const std::string& text) {
    const Hash hash = content_hash(std::as_bytes(std::span(text)));
    std::string hex;
    for (const uint8_t byte : hash) (hex += "0123456789abcdef"[byte >> 4]) += "0123456789abcdef"[byte & 15];
    return hex;
  };
  CHECK_EQUAL(of(""), "f199b6655a8aec0b47f3e9df0be6fc60");
  CHECK_EQUAL(of("abc"), "0f7125ac7cfaa596b843c7e707e10a60");
  std::string letters;
  for (int i = 0; i < 10000; ++i) letters += static_cast<char>('a' + i % 26);
  CHECK_EQUAL(of(letters), "214d600fe0426840db876fe83857eb85");
}

}  // namespace jitc::test
