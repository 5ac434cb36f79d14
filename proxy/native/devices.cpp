// Joins the core to the devices that this library is built with. See device/devices.h.
#include "device/devices.h"

#include <algorithm>

#include "device/common/shared_segment.h"
#include "device/cuda/collective/meeting.h"
#include "device/software/collective/segment.h"

namespace jitc {

bool has_device(const std::string& name) { return name == "software" || name == "cuda"; }

bool open_device(const std::string& name, const Libraries& libraries, int ordinal,
                 std::shared_ptr<void>& open, std::string& error) {
  if (name != "cuda") return true;
  open = open_cuda_gpu(libraries, ordinal, error);
  return open != nullptr;
}

std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions& options,
                                      ExecutionSink& sink, Rendezvous& rendezvous, ImageSource& images,
                                      std::string& error) {
  if (name == "software") return make_software_backend(options, sink, rendezvous, error);
  if (name == "cuda") return make_cuda_backend(options, sink, rendezvous, images, error);
  error = "there is no such device";
  return nullptr;
}

uint64_t segment_bytes(uint32_t ranks) {
  return std::max(software::Segment::bytes(ranks), cuda::Meeting::bytes(ranks));
}

bool mark_segment(const std::string& path, uint64_t identity, std::string& error) {
  return device::mark_segment(path, identity, error);
}

bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error) {
  return device::mark_absent(path, rank, why, error);
}

}  // namespace jitc
