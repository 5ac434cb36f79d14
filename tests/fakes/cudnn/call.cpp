// See call.h.
#include "call.h"

#include <cstdio>
#include <map>
#include <mutex>

#include "functions.h"

namespace jitc::fakes {
namespace {
struct Objects {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<DnnObject>> all;
  uintptr_t next = 0xd2200000;
};

Objects& objects() {
  static Objects* const one = new Objects;  // never destroyed: threads call until the process ends
  return *one;
}

thread_local char last_failure[200];

/// "int(void* handle, int mode)" -> handle, mode
std::vector<std::string> names_in(const std::string& signature) {
  std::vector<std::string> names;
  std::string name;
  for (const char each : signature.substr(signature.find('('))) {
    if ((each == ',' || each == ')') && !name.empty()) names.push_back(name);
    const bool in_name = std::isalnum(static_cast<unsigned char>(each)) || each == '_';
    in_name ? void(name += each) : name.clear();
  }
  return names;
}

using Names = std::map<std::string, std::vector<std::string>, std::less<>>;
Names all_names() {
  Names names;
#define JITC_FAKE(name, ...) names[#name] = names_in(#__VA_ARGS__);
#include "functions.def"
#undef JITC_FAKE
  return names;
}
}  // namespace

void* keep(std::shared_ptr<DnnObject> object) {
  const std::lock_guard lock(objects().mutex);
  void* const address = reinterpret_cast<void*>(objects().next += 16);
  objects().all[address] = std::move(object);
  return address;
}

std::shared_ptr<DnnObject> kept(const void* address) {
  given(address);
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().all.find(address);
  require(found != objects().all.end(), "no object of this library");
  return found->second;
}

void replace(const void* address, std::shared_ptr<DnnObject> object) {
  const std::lock_guard lock(objects().mutex);
  objects().all.at(address) = std::move(object);
}

void drop(const void* address) {
  const std::lock_guard lock(objects().mutex);
  objects().all.erase(address);
}

const std::vector<std::string>& argument_names(const char* function) {
  static const Names* const names = new Names(all_names());
  return names->at(function);
}

void remember_failure(const char* function, const char* why) {
  std::snprintf(last_failure, sizeof last_failure, "%s: %s", function, why);
}

void cudnnGetLastErrorString(char* text, size_t size) {
  CallLine("cudnn", "cudnnGetLastErrorString").finish(kDnnSuccess);
  if (text && size) std::snprintf(text, size, "%s", last_failure);
}

}  // namespace jitc::fakes
