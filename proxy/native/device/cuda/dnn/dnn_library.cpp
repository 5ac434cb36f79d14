// See dnn_library.h.
#include "dnn_library.h"

#include "device/cuda/driver/open_library.h"

namespace jitc::cuda {
namespace {

/// Names by ObjectKind; backend has functions of its own.
constexpr std::array<const char*, Cudnn::kKinds> kNames{
    "",        "Tensor", "Filter",  "Convolution", "Activation",        "Pooling",
    "Dropout", "RNN",    "RNNData", "CTCLoss",     "SpatialTransformer"};

}  // namespace

std::shared_ptr<const Cudnn> Cudnn::open(const std::string& path, const std::vector<std::string>& beside) {
  return known<Cudnn>(path, [&] {
    for (const std::string& one : beside) load_beside(one);
    void* const library = load("libcudnn", path);
    const auto made = std::make_shared<Cudnn>();
#define JITC_CUDNN_FIND(function, parameters) find(library, path, #function, made->function);
    JITC_CUDNN(JITC_CUDNN_FIND)
#undef JITC_CUDNN_FIND
    find(library, path, "cudnnGetVersion", made->cudnnGetVersion);
    for (size_t kind = 1; kind < kKinds; ++kind) {
      const std::string name = std::string(kNames[kind]) + "Descriptor";
      find(library, path, "cudnnCreate" + name, made->makers_[kind].create);
      find(library, path, "cudnnDestroy" + name, made->makers_[kind].destroy);
    }
    made->functions_ = {"libcudnn", {kDnnFunctions, kDnnFunctionsCount}, library};
    made->last_error_ = reinterpret_cast<void (*)(char*, size_t)>(dlsym(library, "cudnnGetLastErrorString"));
    return made;
  });
}

std::string Cudnn::last_words() const {
  std::array<char, 1024> text{};
  if (last_error_) last_error_(text.data(), text.size() - 1);
  return text.data();
}

void check_dnn(const Cudnn& library, const char* function, DnnStatus status) {
  if (status) throw LibraryFailure{status, function, library.last_words()};
}

void demand(const CallOutcome& outcome) {
  constexpr DnnStatus kBadParam = 2000, kUnsupported = 3000, kInternal = 4000;
  constexpr DnnStatus kNoHostMemory = 4003, kNoDeviceMemory = 4004;
  const DnnStatus status = outcome.status;
  if (!status) return;
  uint32_t as = kUnknown;
  if (status >= kBadParam && status < kUnsupported) as = kInvalidValue;
  if (status >= kUnsupported && status < kInternal) as = kNotSupported;
  if (status == kNoHostMemory || status == kNoDeviceMemory) as = kMemoryAllocation;
  refuse(as, "dnn-error",
         std::string(outcome.function) + ": " + ops::dnn_status_name(status) + " (" + std::to_string(status) +
             ")" + (outcome.bytes.empty() ? "" : ": " + outcome.text()));
}

}  // namespace jitc::cuda
