#include "special/kernels.h"

#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <string_view>

#include "jitc/client_api.h"
#include "redirect.h"

namespace jitc::torch_device {
namespace {

constexpr int kNotServed = 801;  // cudaErrorNotSupported

int send(std::string_view name, int device, void* stream, const c10::IValue& argument) {
  const EncodeRules rules{.name = name.data()};
  EncoderLease encoder;
  encoder->begin(name, rules, 1);
  encoder->argument(argument);
  encoder->finish_arguments(false);
  encoder->begin_outputs(0);
  return jitc_operator_call(device, stream, encoder->bytes().data(), encoder->bytes().size());
}

/// Serves torch.cuda._sleep: spin_kernel(int64_t cycles), of the clock that the device reports.
int spin(int device, void* stream, void** arguments) {
  int kilohertz = 0;
  if (const auto status = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device)) return status;
  const auto cycles = static_cast<double>(*static_cast<const int64_t*>(arguments[0]));
  const double nanoseconds = cycles * 1e6 / std::max(kilohertz, 1);
  return send("jitc::spin", device, stream, static_cast<int64_t>(std::clamp(nanoseconds, 0.0, 9e18)));
}

/// Serves TORCH_NCCL_NAN_CHECK: checkForNaN(T* data, size_t size), before a collective.
template <c10::ScalarType kType>
int assert_no_nan(int device, void* stream, void** arguments) {
  void* const data = *static_cast<void**>(arguments[0]);
  const auto size = *static_cast<const size_t*>(arguments[1]);
  const c10::Device place(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device));
  const auto options = at::TensorOptions().device(place).dtype(kType);
  const at::Tensor numbers =
      at::for_blob(data, {static_cast<int64_t>(size)}).options(options).target_device(place).make_tensor();
  return send("jitc::assert_no_nan", device, stream, numbers);
}

struct Served {
  std::string_view space, name;  // of the mangled name: its beginning, and a part of it
  int (*serve)(int device, void* stream, void** arguments);
};
constexpr Served kServed[] = {
    {"_ZN2at4cuda", "11spin_kernelEl", &spin},
    {"_ZN4c10d", "11checkForNaNIfE", &assert_no_nan<c10::ScalarType::Float>},
    {"_ZN4c10d", "11checkForNaNIdE", &assert_no_nan<c10::ScalarType::Double>},
    {"_ZN4c10d", "11checkForNaNIN3c104HalfE", &assert_no_nan<c10::ScalarType::Half>},
    {"_ZN4c10d", "11checkForNaNIN3c108BFloat16E", &assert_no_nan<c10::ScalarType::BFloat16>},
    {"_ZN4c10d", "11checkForNaNIN3c1013Float8_e4m3fnE", &assert_no_nan<c10::ScalarType::Float8_e4m3fn>},
    {"_ZN4c10d", "11checkForNaNIN3c1011Float8_e5m2E", &assert_no_nan<c10::ScalarType::Float8_e5m2>},
};

}  // namespace

int serve_kernel(const char* name, int device, void* stream, void** arguments) {
  const std::string_view asked(name);
  for (const auto& [space, part, serve] : kServed)
    if (asked.starts_with(space) && asked.find(part) != asked.npos) return serve(device, stream, arguments);
  return kNotServed;
}

}  // namespace jitc::torch_device
