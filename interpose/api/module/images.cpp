#include "images.h"

#define XXH_INLINE_ALL
#include <elf.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "jitc/generated_ops.h"
#include "jitc/packed_reader.h"

namespace jitc::api {
namespace {

constexpr uint64_t kPart = 1u << 20;  // an image_part carries at most this much
constexpr uint32_t kWrapperMagic = 0x466243b1, kFatBinaryMagic = 0xba55ed50;

/// Structure that nvcc puts into programs and registers (__fatBinC_Wrapper_t).
struct Wrapper {
  uint32_t magic, version;
  const void* data;
  const void* prelinked;
};
struct FatBinaryHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // after the header
};

template <class T>
T read(const void* from, uint64_t offset = 0) {
  T out;
  std::memcpy(&out, static_cast<const char*>(from) + offset, sizeof out);
  return out;
}

uint64_t fat_binary_bytes(const void* image) {
  const auto header = read<FatBinaryHeader>(image);
  return header.header_bytes + header.bytes;
}

/// Returns the largest end of count pieces in a table of headers; 0 if the table lies beyond the limit.
template <class Header, class End>
uint64_t end_of_all(const void* image, uint64_t limit, uint64_t table, uint64_t count, uint64_t size,
                    End&& end_of) {
  if (size < sizeof(Header) || table > limit || count > (limit - table) / size) return 0;
  uint64_t end = table + count * size;
  for (uint64_t i = 0; i < count; ++i) end = std::max(end, end_of(read<Header>(image, table + i * size)));
  return end;
}

/// Returns the end of everything that the headers name; 0 for a file that is not 64-bit ELF.
uint64_t elf_bytes(const void* image, uint64_t limit) {
  const auto header = read<Elf64_Ehdr>(image);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shoff > limit - sizeof(Elf64_Shdr)) return 0;
  uint64_t sections = header.e_shnum;
  // Too many sections for the header's counter: the size of the first one is their number.
  if (!sections && header.e_shoff) sections = read<Elf64_Shdr>(image, header.e_shoff).sh_size;
  const uint64_t end = end_of_all<Elf64_Shdr>(
      image, limit, header.e_shoff, sections, header.e_shentsize,
      [](const Elf64_Shdr& one) { return one.sh_type == SHT_NOBITS ? 0 : one.sh_offset + one.sh_size; });
  if (!header.e_phnum || !end) return end;
  return std::max(end,
                  end_of_all<Elf64_Phdr>(image, limit, header.e_phoff, header.e_phnum, header.e_phentsize,
                                         [](const Elf64_Phdr& one) { return one.p_offset + one.p_filesz; }));
}

/// Returns whether the image is text (PTX), judging by its first characters.
bool looks_like_text(const void* image) {
  const auto* text = static_cast<const unsigned char*>(image);
  for (int i = 0; i < 8 && text[i]; ++i)
    if (text[i] >= 0x7f || (text[i] < ' ' && !std::strchr("\t\r\n", text[i]))) return false;
  return text[0] != 0;
}

Status send_parts(Session& session, const ImageHash& hash, std::span<const std::byte> image) {
  for (uint64_t done = 0; done < image.size();) {
    ops::ImagePart op;
    op.hash = hash;
    op.total = image.size();
    op.offset = done;
    op.bytes = std::min(kPart, image.size() - done);
    if (!session.submit(op, image.subspan(done, op.bytes))) return not_submitted(session);
    done += op.bytes;
  }
  return kSuccess;
}

}  // namespace

std::span<const std::byte> image_at(const void* image, uint64_t limit) {
  if (!image) return {};
  auto magic = read<uint32_t>(image);
  if (magic == kWrapperMagic) {
    image = read<Wrapper>(image).data;
    if (!image) return {};
    magic = read<uint32_t>(image);
  }
  uint64_t bytes = 0;
  if (magic == kFatBinaryMagic)
    bytes = fat_binary_bytes(image);
  else if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0)
    bytes = elf_bytes(image, limit);
  else if (looks_like_text(image))
    bytes = std::strlen(static_cast<const char*>(image)) + 1;
  return {static_cast<const std::byte*>(image), bytes};
}

Status read_image(const char* path, std::vector<std::byte>* out) {
  if (!path) return kInvalidValue;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rbe"), std::fclose);
  if (!file) return kFileNotFound;
  out->clear();
  std::byte buffer[1 << 16];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, file.get()))
    out->insert(out->end(), buffer, buffer + got);
  if (std::ferror(file.get()) || out->size() < sizeof(FatBinaryHeader)) return kInvalidKernelImage;
  const size_t size = out->size();
  out->resize(size + sizeof(Elf64_Ehdr));  // zeros: no header is read past the end, text ends
  const auto image = image_at(out->data(), size);
  return !image.empty() && image.size() <= size + 1 ? kSuccess : kInvalidKernelImage;
}

ImageHash hash_of(std::span<const std::byte> image) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(image.data(), image.size()));
  ImageHash out;
  std::memcpy(out.data(), canonical.digest, out.size());
  return out;
}

Status bring_image(Session& session, const ImageHash& hash, std::span<const std::byte> image) {
  ops::ImageQuery query;
  query.hash = hash;
  query.bytes = image.size();
  const session::Result result = session.call(query);
  if (result.status) return from_result(result.status);
  uint32_t present = 0;
  if (!unpack(result.payload, &present)) return kUnknown;
  return present ? kSuccess : send_parts(session, hash, image);
}

}  // namespace jitc::api
