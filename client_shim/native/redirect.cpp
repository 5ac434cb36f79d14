#include "redirect.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided.h>
#include <c10/cuda/CUDAGuard.h>

#include <array>

#include "boundary.h"
#include "order/sites.h"

namespace jitc::torch_device {
namespace {

using wire::Tag;

constexpr size_t kMostSignatures = 4096;  // of one operator; beyond this all are forgotten

struct EncoderStack {
  std::vector<std::unique_ptr<Encoder>> encoders;
  size_t depth = 0;
};
thread_local EncoderStack encoder_stack;

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  for (const auto prefix : prefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

bool is_write(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

/// Gives the arguments of an out= call the size and the strides that the result will have.
void resize(const Encoder& encoder, const Plan& plan) {
  for (const auto& [tensor, form] : plan.resized) {
    const at::Tensor& out = encoder.tensors().at(tensor);
    if (out.numel() != 0 && out.sizes() != c10::IntArrayRef(form.sizes))
      TORCH_WARN(
          "An output with one or more elements was resized since it had shape ", out.sizes(),
          ", which does not match the required output shape ", c10::IntArrayRef(form.sizes),
          ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless "
          "they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to "
          "zero "
          "elements with t.resize_(0).");
    const c10::IntArrayRef strides(form.strides);
    const auto bytes =
        at::detail::computeStorageNbytes(form.sizes, strides, out.itemsize(), out.storage_offset());
    out.resize_(form.sizes);
    if (out.strides() == strides) continue;
    if (out.storage().nbytes() < bytes) out.resize_({static_cast<int64_t>(bytes / out.itemsize())});
    out.as_strided_(form.sizes, strides);
  }
}

at::Tensor alias_of(const at::Tensor& argument, const ResultPlan& result) {
  const auto item = static_cast<int64_t>(argument.itemsize());
  return at::as_strided(argument, result.form.sizes, result.form.strides,
                        argument.storage_offset() + result.byte_offset / item);
}

/// Makes the results of a call; new tensors are allocated and listed as the call's outputs.
c10::IValue make_result(const ResultPlan& result, Encoder& encoder) {
  switch (result.tag) {
    case Tag::metadata: {
      auto made = make_tensor(result.form);
      encoder.output(made);
      return made;
    }
    case Tag::undefined:
      encoder.dropped_output();
      return at::Tensor();
    case Tag::same_tensor:
      encoder.dropped_output();
      return encoder.tensors().at(result.tensor);
    case Tag::alias:
      encoder.dropped_output();
      return alias_of(encoder.tensors().at(result.tensor), result);
    case Tag::tensors: {
      c10::List<at::Tensor> list;
      list.reserve(result.items.size());
      for (const auto& one : result.items) list.push_back(make_result(one, encoder).toTensor());
      return list;
    }
    default:
      return result.value;
  }
}

}  // namespace

EncoderLease::EncoderLease() {
  auto& stack = encoder_stack;
  if (stack.depth == stack.encoders.size()) stack.encoders.push_back(std::make_unique<Encoder>());
  encoder_ = stack.encoders[stack.depth++].get();
}

EncoderLease::~EncoderLease() {
  encoder_->clear();
  --encoder_stack.depth;
}

void Redirect::read_schema(const c10::OperatorHandle& op) {
  const auto& schema = op.schema();
  const std::string& overload = schema.overload_name();
  name_ = schema.name() + (overload.empty() ? "" : "." + overload);
  arguments_ = schema.arguments().size();
  for (size_t i = 0; i < arguments_; ++i) {
    const auto& argument = schema.arguments()[i];
    if (argument.type()->str().find("Generator") != std::string::npos) generator_ = static_cast<int>(i);
    if (argument.name() == "training" || argument.name() == "train") training_ = static_cast<int>(i);
    writes_ = writes_ || is_write(argument);
  }
  bool gives_values = false;
  for (const auto& one : schema.returns()) {
    int same = -1;
    if (is_write(one))
      for (size_t i = 0; i < arguments_; ++i)
        if (is_write(schema.arguments()[i]) && *schema.arguments()[i].alias_info() == *one.alias_info())
          same = static_cast<int>(i);
    returns_argument_.push_back(same);
    gives_values = gives_values || one.type()->str().find("Tensor") == std::string::npos;
  }
  const std::string_view plain = std::string_view(name_).substr(std::string_view("aten::").size());
  indexes_ = starts_with_any(
      plain, {"index.", "_unsafe_index.", "index_put", "_index_put_impl_", "_unsafe_index_put"});
  depends_on_data_ =
      gives_values || op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
  rules_.name = name_.c_str();
  random_ = generator_ >= 0 || op.hasTag(at::Tag::nondeterministic_seeded);
  rules_.numbers_matter = starts_with_any(plain, {"arange", "range", "linspace", "logspace"});
  rules_.cpu_tensors = indexes_ || starts_with_any(plain, {"_ctc_loss"});
}

void Redirect::encode(Encoder& encoder, c10::ArrayRef<c10::IValue> arguments) const {
  encoder.begin(name_, rules_, arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (static_cast<int>(i) == generator_)
      encoder.random_argument(arguments[i]);
    else
      encoder.argument(arguments[i]);
  }
  const bool at_rest = training_ >= 0 && arguments[training_].isBool() && !arguments[training_].toBool();
  encoder.finish_arguments(random_ && !at_rest);
}

std::shared_ptr<const Plan> Redirect::plan_for(const Encoder& encoder) {
  const bool always = indexes_ ? encoder.has_mask() : depends_on_data_;
  if (always) {
    auto plan = query(encoder, true);
    note_wait(encoder.device());
    return plan;
  }
  {
    const std::shared_lock lock(memo_mutex_);
    if (const auto found = memo_.find(encoder.key()); found != memo_.end()) return found->second;
  }
  auto plan = query(encoder, false);
  if (!plan->resized.empty()) return plan;  // the call will have another signature
  const std::unique_lock lock(memo_mutex_);
  if (memo_.size() >= kMostSignatures) memo_.clear();
  memo_.insert_or_assign(std::string(encoder.key()), plan);
  return plan;
}

std::vector<c10::IValue> Redirect::run(Encoder& encoder, c10::ArrayRef<c10::IValue> arguments) {
  encode(encoder, arguments);
  const c10::cuda::CUDAGuard guard(encoder.device());
  auto plan = plan_for(encoder);
  if (!plan->resized.empty()) {
    resize(encoder, *plan);
    encode(encoder, arguments);
    plan = plan_for(encoder);
    TORCH_CHECK(plan->resized.empty(), name_, ": the worker asks for another size of an out= argument twice");
  }
  TORCH_CHECK(plan->results.size() == returns_argument_.size(), name_, ": the worker's answer has ",
              plan->results.size(), " results instead of ", returns_argument_.size());
  encoder.begin_outputs(static_cast<uint16_t>(plan->outputs));
  std::vector<c10::IValue> results;
  results.reserve(returns_argument_.size());
  for (size_t i = 0; i < returns_argument_.size(); ++i)
    results.push_back(returns_argument_[i] >= 0 ? arguments[returns_argument_[i]]
                                                : make_result(plan->results[i], encoder));
  if (plan->outputs || writes_ || results.empty()) submit(encoder);
  return results;
}

void Redirect::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  std::call_once(schema_read_, [&] { read_schema(op); });
  update_phase();
  EncoderLease encoder;
  auto results = run(*encoder, torch::jit::last(*stack, arguments_));
  torch::jit::drop(*stack, arguments_);
  for (auto& one : results) stack->push_back(std::move(one));
}

}  // namespace jitc::torch_device
