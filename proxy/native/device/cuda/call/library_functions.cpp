// See library_functions.h.
#include "library_functions.h"

#include <dlfcn.h>

#include <algorithm>

#include "device/cuda/driver/error.h"

namespace jitc::cuda {

LibraryFunctions::LibraryFunctions(const char* name, std::span<const CallFunction> table, void* library)
    : name_(name), table_(table) {
  for (const CallFunction& one : table) entries_.push_back(dlsym(library, one.name));
}

const CallFunction& LibraryFunctions::find(uint32_t id, ops::ObjectKind changes) const {
  const auto found =
      std::lower_bound(table_.begin(), table_.end(), id,
                       [](const CallFunction& one, uint32_t wanted) { return one.id < wanted; });
  if (found == table_.end() || found->id != id || found->changes != changes)
    refuse(kNotSupported, "unknown-function",
           std::string("this worker knows no such function of ") + name_ + ": " + hex(id));
  return *found;
}

int32_t LibraryFunctions::call(const CallFunction& function, CallArguments& arguments) const {
  void* const entry = entries_[static_cast<size_t>(&function - table_.data())];
  if (!entry) refuse(kNotSupported, "no-library", std::string(name_) + " has no function " + function.name);
  return function.signature.invoke(entry, arguments);
}

std::vector<std::byte> CallOutcome::packed() const {
  constexpr size_t kHead = sizeof status + sizeof(uint32_t);
  std::vector<std::byte> out(kHead + bytes.size());
  std::memcpy(out.data(), &status, sizeof status);
  std::copy(bytes.begin(), bytes.end(), out.begin() + kHead);
  return out;
}

}  // namespace jitc::cuda
