// See driver_calls.h.
#include "driver_calls.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace jitc::fakes {
namespace {
template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  if (!out) std::fprintf(stderr, "jitc fakes: the fake driver has no %s\n", name);
  return out != nullptr;
}

bool load(DriverCalls& calls) {
  const char* path = std::getenv("JITC_FAKE_CUDA");
  void* const library = ::dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "jitc fakes: no fake driver: %s\n", ::dlerror());
    return false;
  }
  return find(library, "cuCtxGetCurrent", calls.get_current) &&
         find(library, "cuCtxSetCurrent", calls.set_current) &&
         find(library, "cuCtxGetDevice", calls.get_device) &&
         find(library, "cuDeviceGetPCIBusId", calls.bus_id) &&
         find(library, "cuLaunchHostFunc", calls.launch_host) &&
         find(library, "cuStreamIsCapturing", calls.is_capturing) &&
         find(library, "cuStreamSynchronize", calls.synchronize) &&
         find(library, "cuMemRetainAllocationHandle", calls.retain_memory) &&
         find(library, "cuMemExportToShareableHandle", calls.export_memory) &&
         find(library, "cuMemRelease", calls.release_memory) &&
         find(library, "jitc_fake_retain", calls.retain) && find(library, "jitc_fake_memory", calls.memory) &&
         find(library, "jitc_fake_fault", calls.fault);
}
}  // namespace

const DriverCalls* driver_calls() {
  static DriverCalls calls;
  static const bool found = load(calls);
  return found ? &calls : nullptr;
}

}  // namespace jitc::fakes
