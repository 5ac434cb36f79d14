#include "operators/run.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "operators/call/decode.h"
#include "operators/call/reply.h"
#include "operators/checks/arguments.h"
#include "operators/composed/forms.h"
#include "operators/composed/halves.h"
#include "operators/noise.h"
#include "operators/placement.h"
#include "operators/random.h"

namespace jitc::operators {
namespace {

std::atomic<int> wanted_threads{1};

/// Settings of the thread for the whole of a call.
struct Surroundings {
  Surroundings() { use_threads(); }
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::AutoGradMode no_gradients{false};
};

/// Applies settings of the training process that change an operator's computation.
void apply_settings(const wire::CallHeader& header) {
  const auto dtype = c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(header.default_dtype));
  if (c10::get_default_dtype() != dtype) c10::set_default_dtype(dtype);
  const bool deterministic = header.flags & wire::kDeterministic;
  if (at::globalContext().deterministicAlgorithms() != deterministic)
    at::globalContext().setDeterministicAlgorithms(deterministic, true);
}

void invoke(const jitc_operator_host& host, Call& call) {
  std::optional<DefaultGenerator> random;
  if ((call.header.flags & wire::kRandom) && !call.op->takes_generator)
    random.emplace(call.header.seed, call.header.offset);
  const WidenedHalves widened(*call.op, call.stack);
  const PackedResults packed(*call.op, call.stack);
  try {
    if (call.op->on_host)
      call.op->on_host(host, call.stack);
    else if (call.op->composed)
      call.op->composed(call.stack);
    else
      call.op->handle.callBoxed(&call.stack);
  } catch (c10::NotImplementedError& error) {
    // "not implemented for 'Half'": a GPU may well have it.
    error.add_context(
        "in " + call.op->handle.schema().name() +
        ": the software device runs PyTorch's CPU kernels, and there is none for this. Use other types "
        "or shapes, or a GPU (jitc-proxyd --device cuda)");
    throw;
  }
  packed.put_back(call.stack);
  widened.round(call.stack);
}

/// Returns whether a GPU's kernel could not report the error: one of the numbers in operands. The other ones
/// (no kernel, no memory, a singular matrix) are found on the host there too.
bool may_be_of_numbers(const c10::Error& error) {
  return !dynamic_cast<const c10::NotImplementedError*>(&error) &&
         !dynamic_cast<const c10::OutOfMemoryError*>(&error) &&
         !dynamic_cast<const c10::LinAlgError*>(&error) && !dynamic_cast<const c10::TypeError*>(&error);
}

[[noreturn]] void trigger_assert(const Operator& op, const c10::Error& error) {
  throw AssertTriggered("device-side assert triggered in " + op.handle.schema().name() + ": " +
                        error.what_without_backtrace());
}

/// Returns a tensor of the same form; with ones, but integers (which may be indices) as given.
at::Tensor filled(const at::Tensor& tensor, int64_t integers) {
  if (!tensor.defined()) return tensor;
  auto made = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options());
  made.fill_(at::isIntegralType(tensor.scalar_type(), false) ? integers : 1);
  made._set_conj(tensor.is_conj());
  made._set_neg(tensor.is_neg());
  return made;
}

c10::IValue filled(const c10::IValue& value, int64_t integers) {
  if (value.isTensor()) return filled(value.toTensor(), integers);
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& one : value.toTensorVector()) list.push_back(filled(one, integers));
    return list;
  }
  if (!value.isOptionalTensorList()) return value;
  c10::List<std::optional<at::Tensor>> list;
  for (const c10::IValue& one : value.toListRef())
    list.push_back(one.isNone() ? std::nullopt : std::optional(filled(one.toTensor(), integers)));
  return list;
}

/// Returns whether the operator takes operands of this form, with other numbers in them.
bool takes_other_numbers(const jitc_operator_host& host, std::span<const uint8_t> bytes) {
  for (const int64_t integers : {0, 1}) {
    auto call = decode(host, bytes, true);
    try {
      for (auto& value : call.stack) value = filled(value, integers);
      // PyTorch takes operands from the stack before it copies the references to them that a kernel returned.
      const auto kept = call.stack;
      check_arguments(call, host.memory_limit);  // these numbers may be wrong for a kernel without checks
      invoke(host, call);
      return true;
    } catch (const c10::Error&) {  // the form is wrong, or these numbers too
    }
  }
  return false;
}

bool is_mask(const c10::IValue& value) {
  return value.isTensor() &&
         (value.toTensor().scalar_type() == at::kBool || value.toTensor().scalar_type() == at::kByte);
}

/// Returns whether the size of the result depends on the operands' numbers, so that a GPU waits for them and
/// the host reads them too. An index has this effect only as a mask.
bool looks_at_numbers(const Call& call) {
  const auto& op = call.op->handle;
  if (op.schema().name() == "aten::index" && call.stack.size() == 2 && call.stack[1].isOptionalTensorList()) {
    const auto indices = call.stack[1].toListRef();
    return std::any_of(indices.begin(), indices.end(), is_mask);
  }
  return op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
}

/// Returns results that are new tensors, in the order of the call's outputs.
std::vector<at::Tensor> new_results(const Call& call) {
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < call.stack.size(); ++i) {
    const auto& value = call.stack[i];
    if (call.op->returns_written[i]) continue;
    if (value.isTensor())
      results.push_back(value.toTensor());
    else if (value.isTensorList())
      for (const at::Tensor& one : value.toTensorVector()) results.push_back(one);
  }
  return results;
}

bool in_place(const at::Tensor& result, const Output& output) {
  return result.const_data_ptr() == output.memory && result.strides() == output.tensor.strides() &&
         !result.is_conj() && !result.is_neg();
}

void check_output(const at::Tensor& result, const at::Tensor& output) {
  TORCH_CHECK(result.defined(), "the operator gave no tensor where one was expected");
  TORCH_CHECK(result.sizes() == output.sizes() && result.scalar_type() == output.scalar_type(),
              "the operator gave a tensor of shape ", result.sizes(), " and type ", result.scalar_type(),
              " where its earlier calls gave ", output.sizes(), " and ", output.scalar_type());
}

void store(std::vector<at::Tensor>& results, std::vector<Output>& outputs, const std::vector<Slot>& slots) {
  if (results.size() != outputs.size()) throw Malformed("operator call with a wrong number of outputs");
  // A result in another output's memory must leave it before any write there.
  for (size_t i = 0; i < results.size(); ++i) {
    if (!outputs[i].tensor.defined()) continue;
    check_output(results[i], outputs[i].tensor);
    const auto* begin = results[i].storage().data();
    const bool placed = std::any_of(slots.begin(), slots.end(),
                                    [&](const Slot& one) { return one.used && one.address == begin; });
    if (placed && !in_place(results[i], outputs[i])) results[i] = results[i].clone();
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (outputs[i].tensor.defined() && outputs[i].bytes && !in_place(results[i], outputs[i]))
      outputs[i].tensor.copy_(results[i]);
}

}  // namespace

void set_threads(int threads) { wanted_threads = std::max(threads, 1); }

void use_threads() {
  thread_local int applied = 0;
  const int wanted = wanted_threads.load(std::memory_order_relaxed);
  if (applied == wanted) return;
  at::set_num_threads(wanted);
  applied = wanted;
}

void run_call(const jitc_operator_host& host, std::span<const uint8_t> bytes) {
  const Surroundings surroundings;
  auto call = decode(host, bytes, false);
  apply_settings(call.header);
  std::vector<Slot> slots;
  for (const Output& one : call.outputs)
    if (one.bytes) slots.push_back({one.memory, one.bytes, false});
  const Noise noise(*call.op, call.stack);
  try {  // operands of this form were accepted before
    check_arguments(call, host.memory_limit);
    const Placement placement(slots);
    invoke(host, call);
  } catch (const c10::Error& error) {
    if (may_be_of_numbers(error)) trigger_assert(*call.op, error);
    throw;
  }
  noise.restore_order(call.stack);
  auto results = new_results(call);
  store(results, call.outputs, slots);
}

namespace {
Call ask(const jitc_operator_host& host, std::span<const uint8_t> bytes, int64_t integers) {
  auto call = decode(host, bytes, true, integers);
  apply_settings(call.header);
  check_arguments(call, host.memory_limit);
  const Forms forms(call);
  const bool may_assert = !(call.header.flags & wire::kFormAlone) && !looks_at_numbers(call);
  try {
    invoke(host, call);
  } catch (const c10::Error& error) {
    if (may_assert && may_be_of_numbers(error) && takes_other_numbers(host, bytes))
      trigger_assert(*call.op, error);
    throw;
  }
  forms.apply(call.stack);
  return call;
}

bool asks_form_alone(std::span<const uint8_t> bytes) {
  wire::CallHeader header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.flags & wire::kFormAlone;
}
}  // namespace

/// Runs the query. Zeros are good as indices, but not as divisors.
void run_query(const jitc_operator_host& host, std::span<const uint8_t> bytes, std::vector<uint8_t>& reply) {
  const Surroundings surroundings;
  if (asks_form_alone(bytes)) {
    try {
      return write_reply(ask(host, bytes, 0), reply);
    } catch (const c10::Error&) {
      reply.clear();
    }
  }
  write_reply(ask(host, bytes, 1), reply);
}

}  // namespace jitc::operators
