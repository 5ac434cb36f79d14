#include "plan.h"

#include <ATen/EmptyTensor.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <string_view>

#include "jitc/client_api.h"
#include "jitc/packed_reader.h"

namespace jitc::torch_device {
namespace {

using wire::Tag;

constexpr uint32_t kOperatorRaised = 0x10001;

class ReplyReader {
 public:
  explicit ReplyReader(std::span<const uint8_t> bytes) : reader_(std::as_bytes(bytes)) {}
  template <class T>
  T take() {
    T value;
    TORCH_CHECK(reader_.take(&value), "jitc: the worker's answer to an operator query is cut off");
    return value;
  }
  TensorForm form() {
    const auto head = take<wire::TensorHead>();
    TensorForm made{static_cast<c10::ScalarType>(head.dtype), head.flags, {}, {}};
    for (uint8_t i = 0; i < head.dimensions; ++i) made.sizes.push_back(take<int64_t>());
    for (uint8_t i = 0; i < head.dimensions; ++i) made.strides.push_back(take<int64_t>());
    return made;
  }
  ResultPlan result();

 private:
  PackedReader reader_;
};

ResultPlan ReplyReader::result() {
  ResultPlan made;
  made.tag = take<Tag>();
  switch (made.tag) {
    case Tag::none:
    case Tag::undefined:
      break;
    case Tag::metadata:
      made.form = form();
      break;
    case Tag::same_tensor:
      made.tensor = take<uint16_t>();
      break;
    case Tag::alias:
      made.tensor = take<uint16_t>();
      made.byte_offset = take<int64_t>();
      made.form = form();
      break;
    case Tag::tensors:
      for (auto left = take<uint32_t>(); left; --left) made.items.push_back(result());
      break;
    case Tag::boolean:
      made.value = take<uint8_t>() != 0;
      break;
    case Tag::integer:
      made.value = take<int64_t>();
      break;
    case Tag::real:
      made.value = take<double>();
      break;
    case Tag::complex: {
      const auto real = take<double>();
      made.value = c10::complex<double>(real, take<double>());
      break;
    }
    default:
      TORCH_CHECK(false, "jitc: the worker's answer to an operator query has an unknown part");
  }
  return made;
}

size_t count_outputs(const ResultPlan& result) {
  if (result.tag == Tag::tensors) {
    size_t count = 0;
    for (const auto& one : result.items) count += count_outputs(one);
    return count;
  }
  return result.tag == Tag::metadata || result.tag == Tag::undefined || result.tag == Tag::alias ||
         result.tag == Tag::same_tensor;
}

bool takes_off(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

[[noreturn]] void raise_operator_error(std::string_view text) {
  if (takes_off(text, "IndexError: ")) C10_THROW_ERROR(IndexError, std::string(text));
  if (takes_off(text, "ValueError: ")) C10_THROW_ERROR(ValueError, std::string(text));
  if (takes_off(text, "TypeError: ")) C10_THROW_ERROR(TypeError, std::string(text));
  if (takes_off(text, "NotImplementedError: ")) C10_THROW_ERROR(NotImplementedError, std::string(text));
  if (takes_off(text, "OutOfMemoryError: ")) C10_THROW_ERROR(OutOfMemoryError, std::string(text));
  if (takes_off(text, "LinAlgError: ")) C10_THROW_ERROR(LinAlgError, std::string(text));
  C10_THROW_ERROR(Error, std::string(text));
}

void check(uint32_t status) {
  if (status == kOperatorRaised) raise_operator_error(jitc_last_message());
  C10_CUDA_CHECK(static_cast<cudaError_t>(status));
}

struct Reply : jitc_reply {
  Reply() : jitc_reply{nullptr, 0, 0} {}
  ~Reply() { jitc_reply_free(this); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
};

void* current_stream(const Encoder& call) { return c10::cuda::getCurrentCUDAStream(call.device()).stream(); }

}  // namespace

std::shared_ptr<const Plan> parse_reply(std::span<const uint8_t> reply) {
  ReplyReader reader(reply);
  const auto version = reader.take<uint8_t>();
  TORCH_CHECK(version == wire::kVersion, "jitc: the worker answers operator queries in format ",
              static_cast<int>(version), ", this process reads ", static_cast<int>(wire::kVersion));
  auto plan = std::make_shared<Plan>();
  for (auto left = reader.take<uint16_t>(); left; --left) {
    const auto tensor = reader.take<uint16_t>();
    plan->resized.push_back({tensor, reader.form()});
  }
  for (auto left = reader.take<uint16_t>(); left; --left) {
    plan->results.push_back(reader.result());
    plan->outputs += count_outputs(plan->results.back());
  }
  return plan;
}

std::shared_ptr<const Plan> query(const Encoder& call, bool depends_on_data) {
  Reply reply;
  auto bytes = call.bytes();
  void* stream = current_stream(call);
  if (!depends_on_data &&
      c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None) {
    bytes[offsetof(wire::CallHeader, flags)] |= wire::kFormAlone;
    stream = nullptr;  // the default stream is never captured
  }
  const int status = jitc_operator_query(call.device(), stream, bytes.data(), bytes.size(), &reply);
  const auto seen = status ? static_cast<uint32_t>(status) : reply.status;
  if (seen == kOperatorRaised) raise_operator_error({reinterpret_cast<const char*>(reply.data), reply.size});
  check(seen);
  return parse_reply({reply.data, reply.size});
}

void submit(const Encoder& call) {
  const auto& bytes = call.bytes();
  check(static_cast<uint32_t>(
      jitc_operator_call(call.device(), current_stream(call), bytes.data(), bytes.size())));
}

at::Tensor make_tensor(const TensorForm& form) {
  at::Tensor made =
      at::detail::empty_strided_generic(form.sizes, form.strides, c10::cuda::CUDACachingAllocator::get(),
                                        c10::DispatchKeySet(c10::DispatchKey::CUDA), form.dtype);
  if (form.flags & wire::kConjugate) made._set_conj(true);
  if (form.flags & wire::kNegative) made._set_neg(true);
  return made;
}

}  // namespace jitc::torch_device
