// Service as seen by this process: its GPUs, and the sessions on them.
//
// Called by: the API layer. Promises: nothing happens before the first call; the service is asked once;
// looking up a session or the owner of an address takes no lock.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "session/session.h"

namespace jitc::session {

struct GpuInfo {
  uint32_t index = 0;
  std::string device, name, uuid;
  uint64_t memory_total = 0;
  uint32_t capability_major = 0, capability_minor = 0, multiprocessors = 0;
  std::map<int32_t, int32_t> attributes;  // by CUdevice_attribute; of kind cuda
  bool cudnn = false;                     // the service has libcudnn for it
  bool runs_kernels = false;              // runs the programs' machine code; else operators by name
  bool check_order = false;               // the order of ops is checked: session/order_check.h
};

/// Service as seen by this process. Nothing happens before the first call.
class Node {
 public:
  static Node& instance();
  /// Returns all of the node's GPUs, in the service's order (asked once). Empty, with one message on stderr
  /// that names the socket and the command that starts the service, when it is not running.
  virtual const std::vector<GpuInfo>& gpus() = 0;
  /// Returns the session on a GPU, opened when create is set; nullptr when there is none (error: why).
  virtual Session* session(uint32_t gpu, bool create, uint32_t* error) = 0;
  /// Returns the session whose address range holds the address, or nullptr. Lock-free.
  virtual Session* owner(uint64_t address) = 0;
  /// Returns all open sessions.
  virtual std::vector<Session*> sessions() = 0;
  /// Returns true in a child made by fork after the first session.
  virtual bool forked() const = 0;

 protected:
  ~Node() = default;
};

}  // namespace jitc::session
