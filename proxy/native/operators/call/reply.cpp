#include "reply.h"

namespace jitc::operators {
namespace {

using wire::Tag;

void write_metadata(const at::Tensor& tensor, std::vector<uint8_t>& out) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided && tensor.has_storage(), "a result of layout ",
                              tensor.layout(), " is not supported on the software device");
  uint8_t flags = 0;
  if (tensor.is_conj()) flags |= wire::kConjugate;
  if (tensor.is_neg()) flags |= wire::kNegative;
  append(out, wire::TensorHead{static_cast<int8_t>(tensor.scalar_type()), static_cast<uint8_t>(tensor.dim()),
                               flags});
  for (const int64_t size : tensor.sizes()) append(out, size);
  for (const int64_t stride : tensor.strides()) append(out, stride);
}

bool write_as_argument(const Call& call, const at::Tensor& tensor, std::vector<uint8_t>& out) {
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const at::Tensor& argument = call.tensors[i];
    if (argument.is_same(tensor)) {
      append(out, Tag::same_tensor);
      append(out, static_cast<uint16_t>(i));
      return true;
    }
    if (!tensor.has_storage() || !tensor.storage().data() || !tensor.is_alias_of(argument)) continue;
    append(out, Tag::alias);
    append(out, static_cast<uint16_t>(i));
    append(out,
           (tensor.storage_offset() - argument.storage_offset()) * static_cast<int64_t>(tensor.itemsize()));
    write_metadata(tensor, out);
    return true;
  }
  return false;
}

void write_tensor(const Call& call, const at::Tensor& tensor, std::vector<uint8_t>& out) {
  if (!tensor.defined()) return append(out, Tag::undefined);
  if (write_as_argument(call, tensor, out)) return;
  append(out, Tag::metadata);
  write_metadata(tensor, out);
}

void write_value(const Call& call, const c10::IValue& value, std::vector<uint8_t>& out) {
  if (value.isTensor()) return write_tensor(call, value.toTensor(), out);
  if (value.isTensorList()) {
    const auto list = value.toTensorVector();
    append(out, Tag::tensors);
    append(out, static_cast<uint32_t>(list.size()));
    for (const at::Tensor& one : list) write_tensor(call, one, out);
  } else if (value.isBool()) {
    append(out, Tag::boolean);
    append(out, static_cast<uint8_t>(value.toBool()));
  } else if (value.isInt()) {
    append(out, Tag::integer);
    append(out, value.toInt());
  } else if (value.isDouble()) {
    append(out, Tag::real);
    append(out, value.toDouble());
  } else if (value.isComplexDouble()) {
    append(out, Tag::complex);
    append(out, value.toComplexDouble().real());
    append(out, value.toComplexDouble().imag());
  } else if (value.isNone()) {
    append(out, Tag::undefined);
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "a result of type ", value.tagKind(),
                                " is not supported on the software device");
  }
}

/// Returns whether strides differ: some kernels only change those of an out= argument (cholesky_inverse).
bool has_another_form(const at::Tensor& now, const at::Tensor& before) {
  return now.sizes() != before.sizes() || now.strides() != before.strides();
}

void write_resized(const Call& call, std::vector<uint8_t>& out) {
  const size_t at = out.size();
  append(out, uint16_t{0});
  uint16_t resized = 0;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    if (!call.before[i].defined() || !has_another_form(call.tensors[i], call.before[i])) continue;
    append(out, static_cast<uint16_t>(i));
    write_metadata(call.tensors[i], out);
    ++resized;
  }
  std::memcpy(out.data() + at, &resized, sizeof resized);
}

}  // namespace

void write_reply(const Call& call, std::vector<uint8_t>& reply) {
  append(reply, wire::kVersion);
  write_resized(call, reply);
  append(reply, static_cast<uint16_t>(call.stack.size()));
  for (size_t i = 0; i < call.stack.size(); ++i) {
    if (call.op->returns_written[i])
      append(reply, Tag::none);
    else
      write_value(call, call.stack[i], reply);
  }
}

}  // namespace jitc::operators
