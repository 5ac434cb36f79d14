#include "images.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/dumps.h"
#include "base/error.h"
#include "jitc/generated_errors.h"

namespace jitc {
namespace {
namespace files = std::filesystem;
using errors::kInvalidValue, errors::kMemoryAllocation;

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw ImageError(kMemoryAllocation, what + " " + path + ": " + std::strerror(errno));
}

/// A file descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  uint64_t size() const {
    struct stat status{};
    return fstat(fd_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  }
  bool write_all(std::span<const std::byte> bytes, uint64_t offset) const {
    while (!bytes.empty()) {
      const ssize_t done = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(done));
      offset += static_cast<uint64_t>(done);
    }
    return true;
  }
  /// Reads all bytes. Returns false if the file is shorter.
  bool read_all(std::span<std::byte> bytes) const {
    for (off_t offset = 0; !bytes.empty();) {
      const ssize_t done = pread(fd_, bytes.data(), bytes.size(), offset);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(done));
      offset += done;
    }
    return true;
  }

 private:
  int fd_;
};

/// Makes a folder with its own mode, independent of the process's umask.
void make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail("cannot make", path);
  if (chmod(path.c_str(), 0700) != 0) fail("cannot use", path);
}

std::string words(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }
}  // namespace

/// An image in memory. Small ones are read: a process can have only so many mappings.
class ImageStore::Mapping {
 public:
  Mapping(const File& file, uint64_t bytes) : size_(bytes) {
    if (bytes <= kSmall) {
      copy_.resize(bytes);
      if (!file.read_all(copy_)) copy_.clear();
      return;
    }
    void* const map = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (map == MAP_FAILED) return;
    leave_out_of_dumps(map, bytes);
    data_ = static_cast<const std::byte*>(map);
  }
  Mapping(Mapping&& other) noexcept
      : copy_(std::move(other.copy_)), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (data_) munmap(const_cast<std::byte*>(data_), size_);
  }
  std::span<const std::byte> bytes() const {
    return data_ ? std::span(data_, size_) : std::span<const std::byte>(copy_);
  }

 private:
  static constexpr uint64_t kSmall = 128u << 10;
  std::vector<std::byte> copy_;
  const std::byte* data_ = nullptr;
  uint64_t size_;
};

ImageStore::ImageStore(Place place, uint64_t session, bool rebuild)
    : place_(std::move(place)), own_(place_.path + "/held/" + std::to_string(session)) {
  if (!enabled()) return;
  if (!rebuild) close();
  make_folder(place_.path + "/held");
  make_folder(own_);
  find_held();
}

ImageStore::~ImageStore() = default;

std::string ImageStore::shared(const ImageHash& hash) const { return place_.path + "/" + to_hex(hash); }
std::string ImageStore::held(const ImageHash& hash) const { return own_ + "/" + to_hex(hash); }
std::string ImageStore::partial(const ImageHash& hash, uint64_t total) const {
  return held(hash) + "-" + std::to_string(total) + ".part";
}

void ImageStore::find_held() {
  std::error_code ignored;
  for (const auto& entry : files::directory_iterator(own_, ignored)) {
    ImageHash hash;
    if (from_hex(entry.path().filename().string(), hash)) held_.insert(hash);
  }
}

bool ImageStore::has(const ImageHash& hash, uint64_t bytes) {
  if (!hold(hash, bytes)) return false;
  // Checks the file itself: its pages in memory do not help the next worker.
  if (hash_bytes(Mapping(File(held(hash), O_RDONLY), bytes).bytes()) == hash) return true;
  discard(hash);
  return false;
}

/// Discards an image for the node: other sessions still hold the damaged file under names of their own.
void ImageStore::discard(const ImageHash& hash) {
  if (auto known = maps_.extract(hash)) discarded_.push_back(std::move(known.mapped()));
  held_.erase(hash);
  unlink(held(hash).c_str());
  unlink(shared(hash).c_str());
}

/// Holds the file of that name and size. Returns whether it exists; then it stays.
bool ImageStore::hold(const ImageHash& hash, uint64_t bytes) {
  if (!enabled()) return false;
  if (!held_.contains(hash)) {
    if (link(shared(hash).c_str(), held(hash).c_str()) != 0 && errno != EEXIST) return false;
    held_.insert(hash);
  }
  struct stat status{};
  const bool right = stat(held(hash).c_str(), &status) == 0 && static_cast<uint64_t>(status.st_size) == bytes;
  if (right) utimensat(AT_FDCWD, held(hash).c_str(), nullptr, 0);  // used just now
  return right;
}

void ImageStore::part(const ImageHash& hash, uint64_t total, uint64_t offset,
                      std::span<const std::byte> bytes) {
  if (!enabled()) throw ImageError(kInvalidValue, "the service keeps no module images");
  if (hold(hash, total)) return;
  const std::string path = partial(hash, total);
  uint64_t there;
  {
    if (access(path.c_str(), F_OK) != 0) begin_part(hash, total);
    const File file(path, O_RDWR);
    if (!file) fail("cannot open", path);
    there = file.size();
    if (offset > there)
      throw ImageError(kInvalidValue, "image " + to_hex(hash) + " goes on at byte " + std::to_string(offset) +
                                          ", but only " + words(there) + " have come");
    if (offset + bytes.size() > there) {
      const uint64_t known = there - offset;
      if (!file.write_all(bytes.subspan(known), there)) fail("cannot write", path);
      there = offset + bytes.size();
    }
  }
  if (there >= total) complete(hash, total);
}

void ImageStore::begin_part(const ImageHash& hash, uint64_t total) {
  if (own_bytes() + total > place_.limit / 4 * 3)
    throw ImageError(kMemoryAllocation,
                     "the program's module images take more than three quarters of the room for all programs "
                     "(" +
                         words(place_.limit) + "): give the service more with --images-limit");
  if (!make_room(total))
    throw ImageError(kMemoryAllocation,
                     "the folder for module images is full (" + words(place_.limit) +
                         "), and sessions hold what is in it: give the service more with --images-limit");
  const std::string path = partial(hash, total);
  const File file(path, O_RDWR | O_CREAT);
  if (!file) fail("cannot make", path);
  if (fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(total)) == 0) return;
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return;  // unsupported: allocated as written
  const int code = errno;
  unlink(path.c_str());
  errno = code;
  fail("no room for a module image of " + words(total) + " in", place_.path);
}

void ImageStore::complete(const ImageHash& hash, uint64_t total) {
  const std::string path = partial(hash, total);
  {
    const File file(path, O_RDONLY);
    const Mapping mapping(file, total);
    if (file.size() != total || hash_bytes(mapping.bytes()) != hash) {
      unlink(path.c_str());
      throw ImageError(kInvalidValue, "image " + to_hex(hash) + " has come whole, but has another hash");
    }
  }
  if (rename(path.c_str(), held(hash).c_str()) != 0) fail("cannot rename", path);
  held_.insert(hash);
  publish(hash);
}

/// Publishes an image to the other sessions. If one of them was faster, there is no need for two copies.
void ImageStore::publish(const ImageHash& hash) {
  if (link(held(hash).c_str(), shared(hash).c_str()) == 0 || errno != EEXIST) return;
  const std::string other = held(hash) + ".same";
  if (link(shared(hash).c_str(), other.c_str()) != 0) return;
  if (rename(other.c_str(), held(hash).c_str()) != 0) unlink(other.c_str());
}

bool ImageStore::keep(const ImageHash& hash, std::span<const std::byte> bytes) {
  if (!enabled()) return false;
  try {
    if (has(hash, bytes.size())) return true;
    part(hash, bytes.size(), 0, bytes);
  } catch (const Error&) {
    return false;
  }
  return true;
}

std::span<const std::byte> ImageStore::image(const ImageHash& hash, uint64_t bytes, std::string& error) {
  auto known = maps_.find(hash);
  if (known == maps_.end() || known->second.bytes().size() != bytes) {
    if (!hold(hash, bytes)) {
      error = "image " + to_hex(hash) + " is not on this node";
      return {};
    }
    const File file(held(hash), O_RDONLY);
    maps_.erase(hash);
    known = maps_.emplace(hash, Mapping(file, bytes)).first;
  }
  const auto found = known->second.bytes();
  if (!found.empty() && hash_bytes(found) == hash) return found;
  error = "image " + to_hex(hash) + " is damaged";
  return {};
}

void ImageStore::hold_only(const std::set<ImageHash>& needed) {
  for (auto one = held_.begin(); one != held_.end();) {
    if (needed.contains(*one)) {
      ++one;
      continue;
    }
    maps_.erase(*one);
    unlink(held(*one).c_str());
    one = held_.erase(one);
  }
}

void ImageStore::close() {
  if (!enabled()) return;
  maps_.clear();
  held_.clear();
  std::error_code ignored;
  files::remove_all(own_, ignored);
}

/// Returns the bytes that this session holds, or that are in flight.
uint64_t ImageStore::own_bytes() const {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : files::directory_iterator(own_, ignored)) {
    struct stat status{};
    if (lstat(entry.path().c_str(), &status) == 0) bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

/// Removes images that no session holds, least recently used first, until `bytes` more are within the limit.
bool ImageStore::make_room(uint64_t bytes) {
  struct Candidate {
    struct timespec used;
    std::string path;
    uint64_t bytes;
  };
  std::vector<Candidate> idle;
  uint64_t present = 0;
  std::error_code ignored;
  for (const auto& entry : files::recursive_directory_iterator(place_.path, ignored)) {
    struct stat status{};
    if (lstat(entry.path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto size = static_cast<uint64_t>(status.st_blocks) * 512;
    // A held image is found under two names.
    present += size / std::max<uint64_t>(1, status.st_nlink);
    const bool shared = entry.path().parent_path() == files::path(place_.path);
    if (shared && status.st_nlink == 1) idle.push_back({status.st_mtim, entry.path(), size});
  }
  std::sort(idle.begin(), idle.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Candidate& one : idle) {
    if (present + bytes <= place_.limit) break;
    if (unlink(one.path.c_str()) == 0) present -= one.bytes;
  }
  return present + bytes <= place_.limit;
}

}  // namespace jitc
