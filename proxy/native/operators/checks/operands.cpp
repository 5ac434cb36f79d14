#include "operands.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/aminmax.h>
#include <c10/util/Exception.h>

namespace jitc::operators {

const c10::IValue* Operands::find(std::string_view name) const {
  const auto& arguments = schema_.arguments();
  for (size_t i = 0; i < arguments.size() && i < stack_.size(); ++i)
    if (arguments[i].name() == name) return &stack_[i];
  return nullptr;
}

const c10::IValue& Operands::get(std::string_view name) const {
  const auto* found = find(name);
  TORCH_CHECK(found, schema_.name(), " of this release of PyTorch has no argument ", name);
  return *found;
}

const at::Tensor& Operands::tensor(std::string_view name) const {
  const auto& value = get(name);
  TORCH_CHECK(value.isTensor() && value.toTensor().defined(), "Expected a tensor for argument '", name,
              "' of ", schema_.name());
  return value.toTensor();
}

at::Tensor Operands::optional(std::string_view name) const {
  const auto& value = get(name);
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

std::vector<at::Tensor> Operands::tensors(std::string_view name) const {
  const auto& value = get(name);
  TORCH_CHECK_TYPE(value.isTensorList(), "Expected a list of tensors for argument '", name, "' of ",
                   schema_.name());
  return value.toTensorVector();
}

int64_t Operands::integer(std::string_view name) const { return get(name).toInt(); }

std::optional<double> Operands::real(std::string_view name) const {
  const auto& value = get(name);
  return value.isNone() ? std::nullopt : std::optional(value.toScalar().to<double>());
}

at::Scalar Operands::number(std::string_view name) const { return get(name).toScalar(); }

std::optional<int64_t> Operands::integer_if_given(std::string_view name) const {
  return get(name).toOptional<int64_t>();
}

bool Operands::boolean(std::string_view name) const { return get(name).toBool(); }

std::vector<int64_t> Operands::integers(std::string_view name) const {
  const auto& value = get(name);
  return value.isNone() ? std::vector<int64_t>{} : value.toIntVector();
}

void Operands::dimensions(std::string_view name, int64_t least, int64_t most) const {
  const auto& given = tensor(name);
  TORCH_CHECK(given.dim() >= least && given.dim() <= most, "Expected ", least,
              least == most ? "" : " to " + std::to_string(most), " dimensions for argument '", name, "' of ",
              schema_.name(), ", but it has size ", given.sizes());
}

void Operands::sizes(std::string_view name, at::IntArrayRef wanted) const {
  TORCH_CHECK(tensor(name).sizes() == wanted, "Expected argument '", name, "' of ", schema_.name(),
              " to have size ", wanted, ", but it has ", tensor(name).sizes());
}

void Operands::sizes_if_given(std::string_view name, at::IntArrayRef wanted) const {
  if (optional(name).defined()) sizes(name, wanted);
}

void Operands::same_sizes(std::string_view name, std::string_view other) const {
  TORCH_CHECK(tensor(name).sizes() == tensor(other).sizes(), "Expected arguments '", name, "' and '", other,
              "' of ", schema_.name(), " to have the same size, but they have ", tensor(name).sizes(),
              " and ", tensor(other).sizes());
}

void Operands::elements(std::string_view name, int64_t wanted) const {
  TORCH_CHECK(tensor(name).numel() == wanted, "Expected argument '", name, "' of ", schema_.name(),
              " to have ", wanted, " elements, but it has size ", tensor(name).sizes());
}

void Operands::same_type(std::string_view name, std::string_view other) const {
  TORCH_CHECK(tensor(name).scalar_type() == tensor(other).scalar_type(), "Expected arguments '", name,
              "' and '", other, "' of ", schema_.name(), " to have the same dtype, but they have ",
              tensor(name).scalar_type(), " and ", tensor(other).scalar_type());
}

void Operands::contiguous(std::string_view name) const {
  TORCH_CHECK(tensor(name).is_contiguous(), "Expected argument '", name, "' of ", schema_.name(),
              " to be contiguous");
}

void Operands::dense(std::string_view name) const {
  TORCH_CHECK(tensor(name).is_non_overlapping_and_dense(), "Expected argument '", name, "' of ",
              schema_.name(), " to be in one piece");
}

void Operands::floating(std::string_view name) const {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor(name).is_floating_point(), "\"", schema_.name(),
                              "\" not implemented for '", tensor(name).scalar_type(), "' (argument '", name,
                              "')");
}

void Operands::indices(std::string_view name, int64_t first, int64_t end) const {
  indices(tensor(name), name, first, end);
}

void Operands::indices(const at::Tensor& given, std::string_view name, int64_t first, int64_t end) {
  TORCH_CHECK(c10::isIntegralType(given.scalar_type(), false), "Expected integers for argument '", name,
              "', but it has dtype ", given.scalar_type());
  if (!given.numel()) return;
  const auto [least, most] = at::aminmax(given);
  const int64_t from = least.item().toLong(), to = most.item().toLong();
  TORCH_CHECK_INDEX(from >= first && to < end, "Argument '", name, "' is out of range: it has values from ",
                    from, " to ", to, ", but they must be at least ", first, " and less than ", end);
}

int64_t Operands::dimension(std::string_view name, const at::Tensor& of) const {
  return at::maybe_wrap_dim(integer(name), of.dim());
}

void Operands::list_length(std::string_view name, size_t wanted) const {
  const auto& value = get(name);
  TORCH_CHECK(value.isList() && value.toListRef().size() == wanted, "Expected ", wanted,
              " values for argument '", name, "' of ", schema_.name());
}

}  // namespace jitc::operators
