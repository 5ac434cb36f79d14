// See dnn_library.h.
#include "dnn_library.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "dnn_invoke.h"
#include "error.h"

namespace jitc::cuda {
namespace {

/// By DnnKind; backend has functions of its own.
constexpr std::array<const char*, Cudnn::kKinds> kNames{
    "",        "Tensor", "Filter",  "Convolution", "Activation",        "Pooling",
    "Dropout", "RNN",    "RNNData", "CTCLoss",     "SpatialTransformer"};

template <class Function>
void find(void* library, const std::string& path, const std::string& name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name.c_str()));
  if (!function) refuse(kNotSupported, "no-library", path + " has no function " + name);
}

void* load(const std::string& path) {
  if (path.empty()) refuse(kNotSupported, "no-library", "this service has no libcudnn");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(kNotSupported, "no-library", std::string("cannot open libcudnn: ") + dlerror());
  return library;
}

}  // namespace

std::shared_ptr<const Cudnn> Cudnn::open(const std::string& path, const std::vector<std::string>& beside) {
  static std::mutex mutex;
  static auto& all = *new std::map<std::string, std::shared_ptr<const Cudnn>>;
  const std::lock_guard lock(mutex);
  auto& known = all[path];
  if (known) return known;
  for (const std::string& one : beside)
    if (!one.empty()) dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL);  // one that is loaded already is taken
  void* const library = load(path);
  const auto made = std::make_shared<Cudnn>();
#define JITC_CUDNN_FIND(function, parameters) find(library, path, #function, made->function);
  JITC_CUDNN(JITC_CUDNN_FIND)
#undef JITC_CUDNN_FIND
  find(library, path, "cudnnGetVersion", made->cudnnGetVersion);
  for (size_t kind = 1; kind < kKinds; ++kind) {
    find(library, path, std::string("cudnnCreate") + kNames[kind] + "Descriptor", made->makers_[kind].create);
    find(library, path, std::string("cudnnDestroy") + kNames[kind] + "Descriptor",
         made->makers_[kind].destroy);
  }
  for (uint32_t i = 0; i < kDnnFunctionCount; ++i)
    made->functions_.push_back(dlsym(library, kDnnFunctions[i].name));
  made->last_error_ = reinterpret_cast<void (*)(char*, size_t)>(dlsym(library, "cudnnGetLastErrorString"));
  return known = made;
}

std::string Cudnn::last_words() const {
  std::array<char, 1024> text{};
  if (last_error_) last_error_(text.data(), text.size() - 1);
  return text.data();
}

void check_dnn(const Cudnn& library, const char* function, DnnStatus status) {
  if (status) throw DnnFailure{status, function, library.last_words()};
}

void refuse_failure(const DnnFailure& failure) {
  constexpr DnnStatus kBadParam = 2000, kUnsupported = 3000, kInternal = 4000;
  constexpr DnnStatus kNoHostMemory = 4003, kNoDeviceMemory = 4004;
  const DnnStatus status = failure.status;
  uint32_t as = kUnknown;
  if (status >= kBadParam && status < kUnsupported) as = kInvalidValue;
  if (status >= kUnsupported && status < kInternal) as = kNotSupported;
  if (status == kNoHostMemory || status == kNoDeviceMemory) as = kMemoryAllocation;
  refuse(as, "dnn-error",
         std::string(failure.function) + ": " + ops::dnn_status_name(status) + " (" + std::to_string(status) +
             ")" + (failure.words.empty() ? "" : ": " + failure.words));
}

}  // namespace jitc::cuda
