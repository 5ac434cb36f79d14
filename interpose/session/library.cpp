#include "library.h"

#include <dlfcn.h>

#include <string>

#include "message.h"

namespace jitc::session {
namespace {

constexpr const char* kName = "libjitc_transport.so";
constexpr uint32_t kVersion = 1;

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

const jitc_transport_api* load() {
  void* library = nullptr;
  if (const std::string folder = own_folder(); !folder.empty())
    library = dlopen((folder + kName).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string why = library == nullptr ? dlerror() : "";
  if (library == nullptr) library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    message_once("cannot load " + std::string(kName) + " (" + why +
                 "); install jitc again (in a checkout: make build)");
    return nullptr;
  }
  auto* get = reinterpret_cast<decltype(&jitc_transport_get)>(dlsym(library, "jitc_transport_get"));
  const jitc_transport_api* api = get == nullptr ? nullptr : get();
  if (api == nullptr || api->version != kVersion) {
    message_once(std::string(kName) +
                 " is of another version; install jitc again (in a checkout: make build)");
    return nullptr;
  }
  return api;
}

}  // namespace

const jitc_transport_api* transport() {
  static const jitc_transport_api* const api = load();
  return api;
}

}  // namespace jitc::session
