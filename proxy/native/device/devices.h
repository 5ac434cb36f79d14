// What the core needs of the devices beside Backend. Implemented in proxy/native/devices.cpp, the one file
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

/// The names of all, quoted, for a message.
std::string device_names();
/// Whether there is a device of that name.
bool has_device(const std::string& name);
/// Opens what the sessions of a process share, so that none of them pays for it; false with the reason. The
/// device stays open while `open` lives.
bool open_device(const std::string& name, const Libraries& libraries, int ordinal,
                 std::shared_ptr<void>& open, std::string& error);
/// nullptr with the reason.
std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions&, ExecutionSink&,
                                      CommunicatorSegments&, ImageSource&, std::string& error);

// Each device's own, for devices.cpp; tests make one of them.
std::unique_ptr<Backend> make_software_backend(const BackendOptions&, ExecutionSink&, CommunicatorSegments&,
                                               ImageSource&, std::string& error);
/// What sessions on a GPU share, kept open while the pointer lives; nullptr with the reason.
std::shared_ptr<void> open_cuda_gpu(const Libraries& libraries, int ordinal, std::string& error);
std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&, ExecutionSink&, CommunicatorSegments&,
                                           ImageSource&, std::string& error);

/// Bytes of the shared segment of a communicator with so many ranks.
uint64_t segment_bytes(uint32_t ranks);
/// What the node service says in it (device/common/shared_segment.h). False with the reason.
bool mark_segment(const std::string& path, uint64_t identity, std::string& error);
bool mark_absent(const std::string& path, uint32_t rank, const std::string& why, std::string& error);
/// How often each rank has let go of the segment. False with the reason.
bool ranks_left(const std::string& path, uint32_t ranks, uint16_t* counts, std::string& error);

}  // namespace jitc
