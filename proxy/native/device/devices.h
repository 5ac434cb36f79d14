// Interface of the core to the devices beside Backend. Implemented in proxy/native/devices.cpp, the one file
// that knows both sides.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "backend.h"
#include "backend_options.h"
#include "services.h"
#include "sink.h"

namespace jitc {

namespace device {
class SegmentMirror;
struct MirroredSegment;
}  // namespace device

/// Returns all device names, quoted, for a message.
std::string device_names();
/// Returns whether there is a device of that name.
bool has_device(const std::string& name);
/// Opens the state shared by the sessions of a process, so that none of them pays for it; false with the
/// reason. The device stays open while `open` lives.
bool open_device(const std::string& name, const Libraries& libraries, int ordinal,
                 std::shared_ptr<void>& open, std::string& error);
/// Makes a back end; nullptr with the reason.
std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions&, ExecutionSink&,
                                      CommunicatorSegments&, ImageSource&, std::string& error);

// Device-specific functions for devices.cpp; tests make one of them.
std::unique_ptr<Backend> make_software_backend(const BackendOptions&, ExecutionSink&, CommunicatorSegments&,
                                               ImageSource&, std::string& error);
/// Opens the state that sessions on a GPU share, while the pointer lives; nullptr with the reason.
std::shared_ptr<void> open_cuda_gpu(const Libraries& libraries, int ordinal, std::string& error);
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&, ExecutionSink&, CommunicatorSegments&,
                                           ImageSource&, std::string& error);

/// Returns the bytes of the shared segment of a communicator with so many ranks.
uint64_t segment_bytes(uint32_t ranks);
/// Marks the segment for the node service (device/common/shared_segment.h). False with the reason.
bool mark_segment(const std::string& path, uint64_t identity, std::string& error);
bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error);
bool mark_cut(const std::string& path, const std::string& why, std::string& error);
/// Makes the mirror of a communicator's segment, of the device with that name (common/mirror/). Throws Error.
std::unique_ptr<device::SegmentMirror> make_mirror(const std::string& name,
                                                   const device::MirroredSegment& segment);
/// Returns how often each rank has released the segment. False with the reason.
bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error);

}  // namespace jitc
