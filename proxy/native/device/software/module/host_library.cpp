// See host_library.h.
#include "host_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "device/common/image/image_check.h"
#include "device/software/errors/error.h"

namespace jitc::software {
namespace {
#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_X86_64;
#endif

[[noreturn]] void refuse_image(const std::string& why) {
  refuse(kInvalidKernelImage, "invalid-image", "a compiled kernel cannot be loaded: " + why);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

/// Returns a new name for the descriptor: the loader takes equal names for the same library, even if the
/// number stands for another file by now. The bits of a counter are encoded as path steps without effect.
std::string name_of(int descriptor) {
  static std::atomic<uint32_t> loaded{1};
  std::string name = "/proc/self";
  for (uint32_t left = loaded.fetch_add(1); left; left >>= 1) name += left & 1 ? "/." : "/";
  return name + "/fd/" + std::to_string(descriptor);
}

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) refuse_image(std::string("no memory for it: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
}

/// Requires an image of this process's own kind: the loader reads on without checks.
void check_kind(std::span<const std::byte> image) {
  if (device::kind_of_image(image) != device::ImageKind::binary)
    refuse_image("it is cut off, or no shared library");
  Elf64_Ehdr header;
  if (image.size() < sizeof header) refuse_image("it is cut off");
  std::memcpy(&header, image.data(), sizeof header);
  if (header.e_type != ET_DYN) refuse_image("it is no shared library");
  if (header.e_machine != kMachine) refuse_image("it is for another kind of processor");
}
}  // namespace

HostLibrary::HostLibrary(std::span<const std::byte> image) {
  check_kind(image);
  const Descriptor file(memfd_create("jitc-kernel", MFD_CLOEXEC));
  if (file.number() < 0) refuse_image(std::string("no memory for it: ") + std::strerror(errno));
  write_all(file.number(), image);
  library_ = dlopen(name_of(file.number()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) refuse_image(dlerror());
}

HostLibrary::~HostLibrary() {
  if (library_) dlclose(library_);
}

jitc_host_entry HostLibrary::entry(const std::string& name) const {
  constexpr std::string_view kPrefix = JITC_HOST_ENTRY;
  void* const found = name.starts_with(kPrefix) ? dlsym(library_, name.c_str()) : nullptr;
  if (!found) refuse(kSymbolNotFound, "no-kernel", "a compiled module has no kernel " + name);
  return reinterpret_cast<jitc_host_entry>(found);
}

}  // namespace jitc::software
