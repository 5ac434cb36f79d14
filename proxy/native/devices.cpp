// Joins the core to the devices that this library is built with. See device/devices.h.
#include "device/devices.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/error.h"
#include "device/common/shared_segment.h"
#include "device/cuda/nccl/bootstrap_mirror.h"
#include "device/software/segment/mirror.h"

namespace jitc {

namespace {
struct Kind {
  std::string_view name;
  /// nullptr: its sessions share nothing that is worth to be kept open.
  std::shared_ptr<void> (*open)(const Libraries&, int ordinal, std::string& error);
  std::unique_ptr<Backend> (*make)(const BackendOptions&, ExecutionSink&, CommunicatorSegments&, ImageSource&,
                                   std::string&);
  std::unique_ptr<device::SegmentMirror> (*mirror)(const device::MirroredSegment&);
};

template <class Mirror>
std::unique_ptr<device::SegmentMirror> mirror_of(const device::MirroredSegment& segment) {
  return std::make_unique<Mirror>(segment);
}

constexpr Kind kKinds[] = {{"software", nullptr, make_software_backend, mirror_of<software::Mirror>},
                           {"cuda", open_cuda_gpu, make_cuda_backend, mirror_of<cuda::BootstrapMirror>}};

const Kind* kind_of(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& one) { return one.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}
}  // namespace

std::string device_names() {
  std::string names;
  for (const Kind& one : kKinds) names += (names.empty() ? "\"" : "\" and \"") + std::string(one.name);
  return names + "\"";
}

bool has_device(const std::string& name) { return kind_of(name) != nullptr; }

bool open_device(const std::string& name, const Libraries& libraries, int ordinal,
                 std::shared_ptr<void>& open, std::string& error) {
  const Kind* const kind = kind_of(name);
  if (!kind || !kind->open) return kind != nullptr;
  open = kind->open(libraries, ordinal, error);
  return open != nullptr;
}

std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options,
                                      ExecutionSink& sink, CommunicatorSegments& segments,
                                      ImageSource& images, std::string& error) {
  if (const Kind* const kind = kind_of(name)) return kind->make(options, sink, segments, images, error);
  error = "there is no such device";
  return nullptr;
}

uint64_t segment_bytes(uint32_t ranks) {
  return std::max(software::Segment::bytes(ranks), cuda::NcclBootstrap::bytes(ranks));
}

bool mark_segment(const std::string& path, uint64_t identity, std::string& error) {
  return device::mark_segment(path, identity, error);
}

bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error) {
  return device::mark_absent(path, rank, why, error);
}

bool mark_cut(const std::string& path, const std::string& why, std::string& error) {
  return device::mark_cut(path, why, error);
}

std::unique_ptr<device::SegmentMirror> make_mirror(const std::string& name,
                                                   const device::MirroredSegment& segment) {
  if (const Kind* const kind = kind_of(name)) return kind->mirror(segment);
  throw Error("there is no device \"" + name + "\"");
}

bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error) {
  return device::ranks_left(path, ranks, counts, error);
}

}  // namespace jitc
