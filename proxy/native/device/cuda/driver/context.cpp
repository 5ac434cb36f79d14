// See context.h.
#include "context.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace jitc::cuda {
namespace {
uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}
}  // namespace

std::shared_ptr<Context> Context::of(std::shared_ptr<const Driver> driver, int ordinal, std::string& error) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<const Driver*, int>, std::weak_ptr<Context>>;
  const std::lock_guard lock(mutex);
  auto& slot = known[{driver.get(), ordinal}];
  if (auto context = slot.lock()) return context;
  const std::shared_ptr<Context> context(new Context(std::move(driver), ordinal));
  if (!context->retain(error)) return nullptr;
  slot = context;
  return context;
}

Context::Context(std::shared_ptr<const Driver> driver, int ordinal)
    : driver_(std::move(driver)), ordinal_(ordinal), number_(next_number()) {}

Context::~Context() {
  if (context_) driver_->cuDevicePrimaryCtxRelease(device_);
}

bool Context::retain(std::string& error) {
  const auto tried = [&](const char* what, abi::CUresult status) {
    if (status != 0) error = std::string(what) + ": " + driver_->describe(status);
    return status == 0;
  };
  size_t total = 0;
  const bool made = tried("cuDeviceGet", driver_->cuDeviceGet(&device_, ordinal_)) &&
                    tried("cuDeviceTotalMem", driver_->cuDeviceTotalMem(&total, device_)) &&
                    tried("cuDevicePrimaryCtxRetain", driver_->cuDevicePrimaryCtxRetain(&context_, device_));
  total_ = total;
  return made && tried("cuCtxSetCurrent", bind());
}

int Context::attribute(int32_t attribute) const {
  int32_t value = 0;
  return driver_->cuDeviceGetAttribute(&value, attribute, device_) == 0 ? value : 0;
}

int Context::capability() const {
  return attribute(abi::kAttributeMajor) * 10 + attribute(abi::kAttributeMinor);
}

abi::CUresult Context::bind() const {
  thread_local uint64_t bound = 0;
  if (bound == number_) return 0;
  const auto status = driver_->cuCtxSetCurrent(context_);
  if (status == 0) bound = number_;
  return status;
}

}  // namespace jitc::cuda
