// Arguments of a call, by their names in the operator's schema, with common checks.
//
// Called by the checks (checks.h). Promises: a check that fails throws c10::Error with a message that names
// the argument; nothing here reads outside of a tensor.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string_view>
#include <vector>

namespace jitc::operators {

class Operands {
 public:
  Operands(const c10::FunctionSchema& schema, const torch::jit::Stack& stack)
      : schema_(schema), stack_(stack) {}

  /// Returns the tensor, which must be defined.
  const at::Tensor& tensor(std::string_view name) const;
  /// Returns the tensor, undefined if it is not given.
  at::Tensor optional(std::string_view name) const;
  std::vector<at::Tensor> tensors(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  /// Returns the number, none if it is not given.
  std::optional<double> real(std::string_view name) const;
  at::Scalar number(std::string_view name) const;
  std::optional<int64_t> integer_if_given(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool is_tensor(std::string_view name) const { return get(name).isTensor(); }

  void dimensions(std::string_view name, int64_t least, int64_t most) const;
  void sizes(std::string_view name, at::IntArrayRef wanted) const;
  /// Checks an optional tensor; passes if it is not given.
  void sizes_if_given(std::string_view name, at::IntArrayRef wanted) const;
  void same_sizes(std::string_view name, std::string_view other) const;
  void elements(std::string_view name, int64_t wanted) const;
  void same_type(std::string_view name, std::string_view other) const;
  /// Requires a contiguous tensor, for kernels that ignore its strides.
  void contiguous(std::string_view name) const;
  /// Requires a contiguous tensor in some order of its dimensions.
  void dense(std::string_view name) const;
  void floating(std::string_view name) const;
  /// Requires that all its integers are at least first and less than end.
  void indices(std::string_view name, int64_t first, int64_t end) const;
  /// Requires the same of a part of the argument of that name.
  static void indices(const at::Tensor& given, std::string_view name, int64_t first, int64_t end);
  /// Returns a dimension, counted from the end if negative; a number without dimensions has one.
  int64_t dimension(std::string_view name, const at::Tensor& of) const;
  void list_length(std::string_view name, size_t wanted) const;

 private:
  const c10::IValue* find(std::string_view name) const;
  const c10::IValue& get(std::string_view name) const;

  const c10::FunctionSchema& schema_;
  const torch::jit::Stack& stack_;
};

}  // namespace jitc::operators
