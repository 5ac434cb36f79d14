// See device_options.h.
#include "device_options.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "device/devices.h"
#include "json_values.h"

namespace jitc {
namespace {
/// Reads a dictionary of texts.
std::map<std::string, std::string, std::less<>> texts(const Json& json, const char* name) {
  std::map<std::string, std::string, std::less<>> found;
  const Json& listed = json.value(name, Json::object());
  if (!listed.is_object()) throw Error("the request's \"" + std::string(name) + "\" has a wrong type");
  for (const auto& [key, text] : listed.items()) {
    if (!text.is_string()) throw Error("\"" + key + "\" in \"" + name + "\" has a wrong type");
    found[key] = text.get<std::string>();
  }
  return found;
}

WorkerOptions parse_given(const Json& json) {
  WorkerOptions given;
  for (const auto& [name, text] : texts(json, "options"))
    if (!given.set(name, text)) throw Error("this worker knows no option " + name + "=" + text);
  return given;
}
}  // namespace

DeviceOptions parse_options(const std::string& text) {
  const Json json = parse_object(text);
  DeviceOptions options;
  const std::string& device = options.device = get<std::string>(json, "device");
  if (!has_device(device)) throw Error("there is no \"" + device + "\" device, only " + device_names());
  options.gpu = get<uint32_t>(json, "gpu");
  options.memory_limit = get<uint64_t>(json, "memory_limit");
  options.threads = std::max(1, get<int>(json, "threads", 1));
  options.given = parse_given(json);
  options.libraries = Libraries(texts(json, "libraries"));
  options.ordinal = get<int>(json, "ordinal");
  options.shuffle = Shuffle(options.given.shuffle, options.gpu, options.given.hang_seconds);
  options.images = {get<std::string>(json, "images"), options.given.images_limit};
  const char* const poison = std::getenv("JITC_POISON");
  options.poison = get<bool>(json, "poison") || (poison && std::string_view(poison) == "1");
  return options;
}

std::string op_socket_of(const std::string& options) {
  return get<std::string>(parse_object(options), "op_socket");
}

}  // namespace jitc
