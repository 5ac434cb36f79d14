// See image_check.h.
#include "image_check.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace jitc::device {
namespace {
using Bytes = std::span<const std::byte>;
constexpr uint32_t kFatMagic = 0xBA55ED50;

/// Start of an image file, up to its entries.
struct FatHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // after the header
};
static_assert(sizeof(FatHeader) == 16);

template <class T>
bool get(Bytes image, uint64_t offset, T& out) {
  if (image.size() < sizeof(T) || offset > image.size() - sizeof(T)) return false;
  std::memcpy(&out, image.data() + offset, sizeof(T));
  return true;
}

bool inside(Bytes image, uint64_t offset, uint64_t bytes) {
  return offset <= image.size() && bytes <= image.size() - offset;
}

bool whole_fat_binary(Bytes image) {
  FatHeader header;
  return get(image, 0, header) && header.header_bytes >= sizeof(header) &&
         inside(image, header.header_bytes, header.bytes);
}

bool whole_elf(Bytes image) {
  Elf64_Ehdr header;
  if (!get(image, 0, header) || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phoff > image.size() || header.e_phentsize < sizeof(segment)) return false;
    if (!get(image, header.e_phoff + i * header.e_phentsize, segment)) return false;
    if (segment.p_filesz && !inside(image, segment.p_offset, segment.p_filesz)) return false;
  }
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (header.e_shoff > image.size() || header.e_shentsize < sizeof(section)) return false;
    if (!get(image, header.e_shoff + i * header.e_shentsize, section)) return false;
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (!inside(image, section.sh_offset, section.sh_size)) return false;
  }
  return true;
}
}  // namespace

ImageKind kind_of_image(Bytes image) {
  uint32_t magic = 0;
  if (!get(image, 0, magic)) return ImageKind::text;
  if (magic == kFatMagic) return whole_fat_binary(image) ? ImageKind::binary : ImageKind::damaged;
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0)
    return whole_elf(image) ? ImageKind::binary : ImageKind::damaged;
  return ImageKind::text;
}

}  // namespace jitc::device
