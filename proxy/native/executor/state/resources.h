// The resource table of a session, and the packed form in which it goes into the journal.
//
// The table has every resource that is alive, with what is needed to recreate it. Promise: the same ops give
// the same table, live and in replay. Called by: OpIssuer (every op, in order), BoundaryMaker (packing) and
// Restorer.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "communications.h"
#include "device/backend.h"
#include "device/services.h"
#include "images.h"
#include "loaded_modules.h"
#include "packer.h"

namespace jitc {

void pack(Packer& packer, const Resources& resources);
/// Unpacks resources. images: has the contents of graphs that resources only name; null: these stay without.
Resources unpack_resources(Unpacker& unpacker, ImageSource* images);
/// Adds the images that the resources need.
void add_images(const Resources& resources, std::set<ImageHash>& needed);

/// Returns true for ops that create a resource and report success before enqueue() returns.
bool completes_synchronously(const ops::OpInfo& info);

class ResourceTable {
 public:
  static constexpr uint64_t kMostCaptured = 256u << 20;
  /// An excess of one kind for one program (jitc/limits.h).
  struct Excess {
    const char* what;
    size_t most;
    std::string text() const;
  };
  explicit ResourceTable(ImageStore& images) : images_(&images) {}

  /// Notes what an op does; a failed one (status) makes nothing. Takes every op, in order.
  void apply(const ops::OpHeader& op, uint32_t status, std::span<const std::byte> result = {});
  /// Returns the kind of which the op would make one too many.
  std::optional<Excess> excess(const ops::OpHeader& op) const;
  /// Returns whether a capture exceeds kMostCaptured, or all limits::kGraphBytes: it cannot continue.
  bool overflown() const { return overflown_; }
  bool has_collectives(uint64_t executable) const;
  const Communications& communications() const { return communications_; }
  Communications& communications() { return communications_; }
  void reset(const Resources& resources);
  /// Lists resources. backend: asked for unique ids of split communicators; those unknown to it are left out.
  Resources list(const Backend& backend) const;
  const std::map<uint64_t, Resources::Allocation>& allocations() const { return allocations_; }
  const std::map<uint64_t, Resources::Stream>& streams() const { return streams_; }

 private:
  using Result = std::span<const std::byte>;
  // Notes what each resource op does; an op without an overload here does not compile.
  void on(const ops::Allocate& op);
  void on(const ops::Free& op);
  void on(const ops::MemoryHold& op);
  void on(const ops::MemoryMap& op);
  void on(const ops::MemoryDrop& op);
  void on(const ops::HostRegister& op);
  void on(const ops::HostUnregister& op);
  void on(const ops::StreamCreate& op);
  void on(const ops::StreamDestroy& op);
  void on(const ops::EventCreate& op);
  void on(const ops::EventDestroy& op);
  void on(const ops::GraphLaunch& op);
  void on(const ops::GraphDestroy& op);
  void on(const ops::GraphInstantiate& op);
  void on(const ops::ExecutableDestroy& op);
  void on(const ops::BlasCreate& op);
  void on(const ops::BlasDestroy& op);
  void on(const ops::BlasSet& op);
  void on(const ops::DnnPlanLoad& op);
  void on(const ops::DnnPlanDrop& op);
  void capture(const ops::OpHeader& op);
  void resume_capture(const Resources::Capture& open);
  void end_capture(const ops::CaptureEnd& op, uint32_t status);
  void keep(Resources::Content& content) const;
  uint64_t graph_bytes() const;

  ImageStore* images_;
  std::map<uint64_t, Resources::Allocation> allocations_;
  std::map<uint64_t, Resources::Held> held_;
  std::map<uint64_t, Resources::Stream> streams_;
  std::map<uint64_t, Resources::Event> events_;
  std::map<uint64_t, Resources::Graph> graphs_;
  std::map<uint64_t, Resources::Executable> executables_;
  std::map<uint64_t, Resources::Blas> blas_;
  std::map<uint64_t, Resources::DnnPlan> dnn_plans_;
  std::map<uint64_t, Resources::HostRange> host_ranges_;  // by address
  LoadedModules modules_;
  Communications communications_;
  // Captures, by the stream that each began on.
  std::map<uint64_t, std::shared_ptr<Resources::Content>> captures_;
  uint64_t graph_bytes_ = 0;  // when the newest capture in progress began
  bool overflown_ = false;
};

}  // namespace jitc
