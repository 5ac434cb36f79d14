// Joins the core to the devices that this library is built with. See device/devices.h.
#include "device/devices.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "device/common/shared_segment.h"
#include "device/cuda/nccl/nccl_bootstrap.h"
#include "device/software/segment/segment.h"

namespace jitc {

namespace {
struct Kind {
  std::string_view name;
  /// nullptr: its sessions share nothing that is worth to be kept open.
  std::shared_ptr<void> (*open)(const Libraries&, int ordinal, std::string& error);
  std::unique_ptr<Backend> (*make)(const BackendOptions&, ExecutionSink&, CommunicatorSegments&, ImageSource&,
                                   std::string&);
};
constexpr Kind kKinds[] = {{"software", nullptr, make_software_backend},
                           {"cuda", open_cuda_gpu, make_cuda_backend}};

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

bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error) {
  return device::ranks_left(path, ranks, counts, error);
}

}  // namespace jitc
