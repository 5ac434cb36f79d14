#include "encoder.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <c10/core/DefaultDtype.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <mutex>
#include <string_view>

#include "torch_versions.h"

namespace jitc::torch_device {
namespace {

using wire::Tag;

constexpr size_t kCompared = 8;  // tensors compared for being the same object
constexpr size_t kMostInlined =
    64 << 10;  // bytes of a CPU tensor inside a call; larger ones are copied to the device
constexpr uint64_t kOffsetStep = 4;  // Philox offsets are multiples of four

[[noreturn]] void mixed_devices(c10::Device one, c10::Device other, const char* name) {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", one,
              " and ", other, "! (in ", name, ")");
  __builtin_unreachable();
}

uint8_t tensor_flags(const at::Tensor& tensor) {
  uint8_t flags = 0;
  if (tensor.is_conj()) flags |= wire::kConjugate;
  if (tensor.is_neg()) flags |= wire::kNegative;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) flags |= wire::kWrappedNumber;
  return flags;
}

wire::TensorHead head_of(const at::Tensor& tensor) {
  return {static_cast<int8_t>(tensor.scalar_type()), static_cast<uint8_t>(tensor.dim()),
          tensor_flags(tensor)};
}

}  // namespace

void Encoder::clear() {
  tensors_.clear();
  generator_.reset();
  draw_.reset();
}

void Encoder::put_bytes(const void* data, size_t size) {
  const auto* begin = static_cast<const uint8_t*>(data);
  call_.insert(call_.end(), begin, begin + size);
}

void Encoder::begin(std::string_view name, const EncodeRules& rules, size_t arguments) {
  call_.clear();
  key_.clear();
  tensors_.clear();
  generator_.reset();
  rules_ = rules;
  device_ = -1;
  has_mask_ = false;
  wire::CallHeader head;
  if (at::globalContext().deterministicAlgorithms()) head.flags |= wire::kDeterministic;
  head.default_dtype = static_cast<int8_t>(c10::get_default_dtype_as_scalartype());
  head.name_size = static_cast<uint16_t>(name.size());
  head.arguments = static_cast<uint16_t>(arguments);
  put(head);
  key_.push_back(static_cast<char>(head.default_dtype));
  put_bytes(name.data(), name.size());
}

void Encoder::use_device(const at::Tensor& tensor) {
  const auto index = tensor.device().index();
  if (device_ < 0)
    device_ = index;
  else if (device_ != index)
    mixed_devices(c10::Device(c10::DeviceType::CUDA, device_), tensor.device(), rules_.name);
}

bool Encoder::same_as_earlier(const at::Tensor& tensor) {
  if (tensors_.size() > kCompared) return false;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].is_same(tensor)) {
      put_both(Tag::same_tensor);
      put_both(static_cast<uint16_t>(i));
      tensors_.push_back(tensor);
      return true;
    }
  return false;
}

void Encoder::device_tensor(const at::Tensor& tensor) {
  use_device(tensor);
  put_both(Tag::tensor);
  put_both(head_of(tensor));
  put(reinterpret_cast<uint64_t>(tensor.const_data_ptr()));
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  put_bytes(sizes.data(), sizes.size() * sizeof(int64_t));
  put_bytes(strides.data(), strides.size() * sizeof(int64_t));
  key_.append(reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(int64_t));
  key_.append(reinterpret_cast<const char*>(strides.data()), strides.size() * sizeof(int64_t));
  tensors_.push_back(tensor);
}

void Encoder::cpu_tensor(const at::Tensor& given) {
  const at::Tensor plain = given.is_contiguous() && !given.is_conj() && !given.is_neg()
                               ? given
                               : given.resolve_conj().resolve_neg().contiguous();
  put_both(Tag::cpu_tensor);
  auto head = head_of(plain);
  if (given.unsafeGetTensorImpl()->is_wrapped_number()) head.flags |= wire::kWrappedNumber;
  put_both(head);
  put(static_cast<uint64_t>(plain.nbytes()));
  const auto sizes = plain.sizes();
  put_bytes(sizes.data(), sizes.size() * sizeof(int64_t));
  key_.append(reinterpret_cast<const char*>(sizes.data()), sizes.size() * sizeof(int64_t));
  if (plain.nbytes()) put_bytes(plain.const_data_ptr(), plain.nbytes());
  tensors_.push_back(given);
}

void Encoder::tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return put_both(Tag::undefined);
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided && tensor.has_storage(), rules_.name,
                              " with a tensor of layout ", tensor.layout(),
                              " is not supported on the software device");
  if (same_as_earlier(tensor)) return;
  if (tensor.is_cuda()) return device_tensor(tensor);
  const bool inlined = tensor.is_cpu() && (tensor.dim() == 0 || rules_.cpu_tensors);
  if (!inlined)
    mixed_devices(c10::Device(c10::DeviceType::CUDA, std::max<c10::DeviceIndex>(device_, 0)), tensor.device(),
                  rules_.name);
  if (tensor.nbytes() > kMostInlined)
    device_tensor(tensor.to(c10::Device(c10::DeviceType::CUDA, std::max<c10::DeviceIndex>(device_, 0))));
  else
    cpu_tensor(tensor);
}

void Encoder::list_head(Tag tag, size_t count) {
  put_both(tag);
  put_both(static_cast<uint32_t>(count));
}

void Encoder::real(double value) {
  put_both(Tag::real);
  if (rules_.numbers_matter)
    put_both(value);
  else
    put(value);
}

void Encoder::generator(const c10::IValue& value) {
  if (!value.isNone()) {
    generator_ = value.toGenerator();
    TORCH_CHECK(generator_->device().is_cuda(), "Expected a 'cuda' device type for generator but found '",
                generator_->device().type(), "'");
  }
  put_both(Tag::generator);
}

void Encoder::list(const c10::IValue& value) {
  if (value.isIntList()) {
    const auto items = value.toIntVector();
    list_head(Tag::integers, items.size());
    for (const int64_t one : items) put_both(one);
  } else if (value.isTensorList()) {
    const auto items = value.toTensorVector();
    list_head(Tag::tensors, items.size());
    for (const auto& one : items) tensor(one);
  } else if (value.isDoubleList()) {
    const auto items = value.toDoubleVector();
    list_head(Tag::reals, items.size());
    for (const double one : items) rules_.numbers_matter ? put_both(one) : put(one);
  } else if (value.isBoolList()) {
    const auto items = value.toBoolList();
    list_head(Tag::booleans, items.size());
    for (const bool one : items) put_both(static_cast<uint8_t>(one));
  } else if (value.isOptionalTensorList()) {
    const auto items = value.toListRef();
    list_head(Tag::optional_tensors, items.size());
    for (const auto& one : items) {
      if (one.isNone()) {
        put_both(Tag::none);
        continue;
      }
      const auto& index = one.toTensor();
      if (index.defined() && (index.scalar_type() == c10::kBool || index.scalar_type() == c10::kByte))
        has_mask_ = true;
      tensor(index);
    }
  } else {  // of numbers, or of SymInts that are plain numbers
    const auto items = value.toListRef();
    const bool integers = value.isSymIntList();
    list_head(integers ? Tag::integers : Tag::scalars, items.size());
    for (const auto& one : items) {
      if (integers)
        put_both(one.isInt() ? one.toInt() : one.toSymInt().expect_int());
      else
        argument(one);
    }
  }
}

void Encoder::argument(const c10::IValue& value) {
  if (value.isTensor()) return tensor(value.toTensor());
  if (value.isNone()) return put_both(Tag::none);
  if (value.isInt()) return put_both(Tag::integer), put_both(value.toInt());
  if (value.isBool()) return put_both(Tag::boolean), put_both(static_cast<uint8_t>(value.toBool()));
  if (value.isDouble()) return real(value.toDouble());
  if (value.isList()) return list(value);
  if (value.isSymInt()) return put_both(Tag::integer), put_both(value.toSymInt().expect_int());
  if (value.isString()) {
    const auto& text = value.toStringRef();
    list_head(Tag::text, text.size());
    put_bytes(text.data(), text.size());
    key_.append(text);
    return;
  }
  if (value.isDevice()) {
    const auto device = value.toDevice();
    if (device.is_cuda() && device.has_index()) device_ = device.index();
    return put_both(Tag::device);
  }
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    put_both(Tag::complex);
    put(number.real());
    return put(number.imag());
  }
  if (value.isGenerator()) return generator(value);
  // Value with which PyTorch fills new memory in its deterministic mode. Such numbers go only into integers
  // without a sign, where the same bits as a number with a sign are the same number.
  const auto number = unsigned_number(value);
  if (number && std::string_view(rules_.name) == "aten::fill_.Scalar")
    return put_both(Tag::integer), put_both(static_cast<int64_t>(*number));
  TORCH_CHECK_NOT_IMPLEMENTED(false, rules_.name, " with an argument of type ", value.tagKind(),
                              " is not supported on the software device");
}

void Encoder::random_argument(const c10::IValue& value) { generator(value); }

void Encoder::finish_arguments(bool random) {
  if (device_ < 0) device_ = c10::cuda::current_device();
  if (!random) return;
  if (!draw_) draw_ = draw();
  auto& head = header();
  head.flags |= wire::kRandom;
  head.seed = draw_->seed;
  head.offset = draw_->offset;
  if (!draw_->captured) return;
  head.version = wire::kVersionInGraph;
  const wire::GraphOffset added{draw_->added};
  const auto* begin = reinterpret_cast<const uint8_t*>(&added);
  call_.insert(call_.begin() + sizeof(wire::CallHeader), begin, begin + sizeof added);
}

Encoder::Draw Encoder::draw() {
  if (!generator_ || !generator_->defined())
    generator_ = at::globalContext().defaultGenerator(c10::Device(c10::DeviceType::CUDA, device_));
  const c10::cuda::CUDAGuard guard(device_);  // whose current stream says whether there is a capture
  const std::lock_guard<std::mutex> lock(generator_->mutex());
  const auto state = at::check_generator<at::CUDAGeneratorImpl>(generator_)->philox_cuda_state(kOffsetStep);
  if (!state.captured_) return {state.seed_.val, state.offset_.val, 0, false};
  return {reinterpret_cast<uint64_t>(state.seed_.ptr), reinterpret_cast<uint64_t>(state.offset_.ptr),
          state.offset_intragraph_, true};
}

void Encoder::output(const at::Tensor& tensor) {
  put(Tag::tensor);
  put(head_of(tensor));
  put(reinterpret_cast<uint64_t>(tensor.const_data_ptr()));
  put_bytes(tensor.sizes().data(), tensor.sizes().size() * sizeof(int64_t));
  put_bytes(tensor.strides().data(), tensor.strides().size() * sizeof(int64_t));
}

}  // namespace jitc::torch_device
