// Operators that PyTorch has for CUDA only, composed of operators that have a CPU kernel.
//
// Recurrent cells, RMS norm and the parts of synchronized batch norm. Each takes and leaves a boxed stack,
// with the same results (and workspaces that only the matching backward reads) as the CUDA operator.
#include "operators/composed/composed.h"

#include <ATen/ATen.h>
#include <ATen/OpMathType.h>

#include <string_view>
#include <utility>

namespace jitc::operators {
namespace {

using at::Tensor;
using torch::jit::Stack;

std::vector<c10::IValue> take(Stack& stack) { return std::exchange(stack, {}); }

template <class... Results>
void give(Stack& stack, Results&&... results) {
  (stack.emplace_back(std::forward<Results>(results)), ...);
}

Tensor optional(const c10::IValue& value) { return value.isNone() ? Tensor() : value.toTensor(); }

Tensor plus(const Tensor& sum, const c10::IValue& bias) {
  const Tensor given = optional(bias);
  return given.defined() ? sum + given : sum;
}

Tensor or_zeros(const Tensor& given, const Tensor& like) {
  return given.defined() ? given : at::zeros_like(like);
}

Tensor sigmoid_slope(const Tensor& y) { return y * (1 - y); }
Tensor tanh_slope(const Tensor& y) { return 1 - y * y; }

/// Returns (hy, cy, workspace); the workspace holds the gates after their nonlinearity.
void lstm_cell(Stack& stack) {
  const auto in = take(stack);
  const Tensor gates = plus(plus(in[0].toTensor() + in[1].toTensor(), in[3]), in[4]);
  const auto parts = gates.chunk(4, 1);
  const Tensor input = parts[0].sigmoid(), forget = parts[1].sigmoid(), cell = parts[2].tanh(),
               output = parts[3].sigmoid();
  const Tensor cy = forget * in[2].toTensor() + input * cell;
  const Tensor hy = output * cy.tanh();
  give(stack, hy, cy, at::cat({input, forget, cell, output}, 1));
}

/// Returns (gradient of the gates, gradient of cx, gradient of the bias).
void lstm_cell_backward(Stack& stack) {
  const auto in = take(stack);
  if (!optional(in[0]).defined() && !optional(in[1]).defined())
    return give(stack, Tensor(), Tensor(), Tensor());
  const Tensor cx = in[2].toTensor(), cy = in[3].toTensor();
  const Tensor grad_hy = or_zeros(optional(in[0]), cy);
  const auto parts = in[4].toTensor().chunk(4, 1);
  const Tensor &input = parts[0], &forget = parts[1], &cell = parts[2], &output = parts[3];
  const Tensor bent = cy.tanh();
  const Tensor grad_cell = grad_hy * output * tanh_slope(bent) + or_zeros(optional(in[1]), cy);
  const Tensor gates =
      at::cat({grad_cell * cell * sigmoid_slope(input), grad_cell * cx * sigmoid_slope(forget),
               grad_cell * input * tanh_slope(cell), grad_hy * bent * sigmoid_slope(output)},
              1);
  const Tensor bias = in[5].toBool() ? gates.sum(0) : Tensor();
  give(stack, gates, grad_cell * forget, bias);
}

/// Returns (hy, workspace of reset, update, new, hx, hidden part of new).
void gru_cell(Stack& stack) {
  const auto in = take(stack);
  const auto from_input = plus(in[0].toTensor(), in[3]).chunk(3, 1),
             from_hidden = plus(in[1].toTensor(), in[4]).chunk(3, 1);
  const Tensor hx = in[2].toTensor();
  const Tensor reset = (from_input[0] + from_hidden[0]).sigmoid(),
               update = (from_input[1] + from_hidden[1]).sigmoid();
  const Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  give(stack, (hx - fresh) * update + fresh, at::cat({reset, update, fresh, hx, from_hidden[2]}, 1));
}

/// Returns gradients of (input gates, hidden gates, hx, input bias, hidden bias).
void gru_cell_backward(Stack& stack) {
  const auto in = take(stack);
  const Tensor grad = in[0].toTensor();
  const auto parts = in[1].toTensor().chunk(5, 1);
  const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &hx = parts[3], &hidden = parts[4];
  const Tensor grad_update = grad * (hx - fresh) * sigmoid_slope(update);
  const Tensor grad_fresh = grad * (1 - update) * tanh_slope(fresh);
  const Tensor grad_reset = grad_fresh * hidden * sigmoid_slope(reset);
  const Tensor input_gates = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const Tensor hidden_gates = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  const bool bias = in[2].toBool();
  give(stack, input_gates, hidden_gates, grad * update, bias ? input_gates.sum(0) : Tensor(),
       bias ? hidden_gates.sum(0) : Tensor());
}

std::vector<int64_t> last_dimensions(const Tensor& tensor, size_t count) {
  std::vector<int64_t> dimensions;
  for (size_t i = 0; i < count; ++i) dimensions.push_back(tensor.dim() - static_cast<int64_t>(count - i));
  return dimensions;
}

/// Converts to the type in which PyTorch computes.
Tensor wide(const Tensor& tensor) { return tensor.to(at::toOpMathType(tensor.scalar_type())); }

/// Returns (output, reciprocal of the root mean square).
void rms_norm(Stack& stack) {
  const auto in = take(stack);
  const Tensor input = in[0].toTensor(), x = wide(input);
  const double eps = in[3].isNone() ? (x.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                                      : std::numeric_limits<float>::epsilon())
                                    : in[3].toDouble();
  const Tensor rstd = (x.pow(2).mean(last_dimensions(x, in[1].toIntVector().size()), true) + eps).rsqrt();
  Tensor y = (x * rstd).to(input.scalar_type());
  const Tensor weight = optional(in[2]);
  if (weight.defined()) y = (y * weight).to(input.scalar_type());
  give(stack, y, rstd);
}

/// Returns gradients of (input, weight).
void rms_norm_backward(Stack& stack) {
  const auto in = take(stack);
  const Tensor input = in[1].toTensor(), rstd = in[3].toTensor(), weight = optional(in[4]);
  const Tensor grad = wide(in[0].toTensor()), x = wide(input);
  const auto dimensions = last_dimensions(x, in[2].toIntVector().size());
  const Tensor scaled = weight.defined() ? grad * wide(weight) : grad, normal = x * rstd;
  const auto mask = in[5].toBoolList();
  Tensor input_grad, weight_grad;
  if (mask[0])
    input_grad =
        (rstd * (scaled - normal * (scaled * normal).mean(dimensions, true))).to(input.scalar_type());
  if (mask[1] && weight.defined()) {
    const int64_t rows = input.dim() - static_cast<int64_t>(dimensions.size());
    weight_grad = rows ? at::sum_to(grad * normal, weight.sizes()) : grad * normal;
    weight_grad = weight_grad.reshape(weight.sizes()).to(weight.scalar_type());
  }
  give(stack, input_grad, weight_grad);
}

/// Returns a tensor of one value per channel, in a shape that broadcasts over (batch, channel, ...).
Tensor per_channel(const Tensor& values, const Tensor& like) {
  std::vector<int64_t> shape(static_cast<size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.reshape(shape);
}

std::vector<int64_t> all_but_channel(const Tensor& tensor) {
  std::vector<int64_t> dimensions{0};
  for (int64_t i = 2; i < tensor.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

void batch_norm_stats(Stack& stack) {
  const auto in = take(stack);
  const Tensor x = wide(in[0].toTensor());
  const auto dimensions = all_but_channel(x);
  give(stack, x.mean(dimensions), (x.var(dimensions, false) + in[1].toDouble()).rsqrt());
}

void batch_norm_elemt(Stack& stack) {
  const auto in = take(stack);
  const Tensor input = in[0].toTensor();
  Tensor y = (input - per_channel(in[3].toTensor(), input)) * per_channel(in[4].toTensor(), input);
  if (const Tensor weight = optional(in[1]); weight.defined()) y = y * per_channel(weight, input);
  if (const Tensor bias = optional(in[2]); bias.defined()) y = y + per_channel(bias, input);
  give(stack, y.to(input.scalar_type()));
}

/// Returns (mean, reciprocal deviation) of all ranks from those of each, weighted by their counts: one of
/// each, or one number for all.
void batch_norm_gather(Stack& stack) {
  const auto in = take(stack);
  const Tensor means = in[1].toTensor(), invstds = in[2].toTensor();
  const double momentum = in[5].toDouble(), eps = in[6].toDouble();
  const Tensor given = in[7].isTensor() ? in[7].toTensor() : at::full({means.size(0)}, in[7].toScalar());
  const Tensor counts = given.to(means.scalar_type()).reshape({-1, 1}), total = counts.sum();
  const Tensor mean = (means * counts).sum(0) / total;
  const Tensor squares = ((invstds.pow(-2) - eps + (means - mean).pow(2)) * counts).sum(0);
  if (Tensor running = optional(in[3]); running.defined())
    running.mul_(1 - momentum).add_(mean.to(running.scalar_type()), momentum);
  if (Tensor running = optional(in[4]); running.defined())
    running.mul_(1 - momentum).add_((squares / (total - 1)).to(running.scalar_type()), momentum);
  give(stack, mean, (squares / total + eps).rsqrt());
}

/// Returns (gradient sum, sum of gradient times centred input, weight gradient, bias gradient), per channel.
void batch_norm_backward_reduce(Stack& stack) {
  const auto in = take(stack);
  const Tensor mean = in[2].toTensor(), invstd = in[3].toTensor(), weight = optional(in[4]);
  const Tensor grad = in[0].toTensor().to(mean.scalar_type()), x = in[1].toTensor().to(mean.scalar_type());
  const auto dimensions = all_but_channel(x);
  const Tensor sum = grad.sum(dimensions), centred = (grad * (x - per_channel(mean, x))).sum(dimensions);
  const auto type = weight.defined() ? weight.scalar_type() : mean.scalar_type();
  const bool input = in[5].toBool();
  give(stack, input ? sum : Tensor(), input ? centred : Tensor(),
       in[6].toBool() ? (centred * invstd).to(type) : Tensor(), in[7].toBool() ? sum.to(type) : Tensor());
}

void batch_norm_backward_elemt(Stack& stack) {
  const auto in = take(stack);
  const Tensor mean = in[2].toTensor(), invstd = in[3].toTensor(), weight = optional(in[4]);
  const Tensor input = in[1].toTensor(), grad = in[0].toTensor().to(mean.scalar_type()),
               x = input.to(mean.scalar_type());
  const Tensor count = in[7].toTensor().sum().to(mean.scalar_type());
  const Tensor slope = (in[6].toTensor() / count) * invstd * invstd;
  Tensor scale = invstd;
  if (weight.defined()) scale = scale * weight.to(mean.scalar_type());
  const Tensor centred = (x - per_channel(mean, x)) * per_channel(slope, x);
  give(stack, ((grad - per_channel(in[5].toTensor() / count, x) - centred) * per_channel(scale, x))
                  .to(input.scalar_type()));
}

void masked_scale(Stack& stack) {
  const auto in = take(stack);
  give(stack, (in[0].toTensor() * in[1].toTensor().to(in[0].toTensor().scalar_type())) * in[2].toDouble());
}

/// Makes operands contiguous, as the CPU's kernel requires; CUDA's accepts all.
std::vector<Tensor> in_one_piece(const std::vector<c10::IValue>& in, std::initializer_list<size_t> which) {
  std::vector<Tensor> made;
  for (const size_t one : which) made.push_back(in[one].toTensor().contiguous());
  return made;
}

void cdist_backward(Stack& stack) {
  const auto in = take(stack);
  const auto of = in_one_piece(in, {0, 1, 2, 4});
  give(stack, at::_cdist_backward(of[0], of[1], of[2], in[3].toDouble(), of[3]));
}

void cdist_backward_out(Stack& stack) {
  const auto in = take(stack);
  const auto of = in_one_piece(in, {0, 1, 2, 4});
  Tensor result = in[5].toTensor();
  give(stack, at::_cdist_backward_out(result, of[0], of[1], of[2], in[3].toDouble(), of[3]));
}

constexpr NamedComposed kComposed[] = {
    {"aten::_cdist_backward", &cdist_backward},
    {"aten::_cdist_backward.out", &cdist_backward_out},
    {"aten::_thnn_fused_lstm_cell", &lstm_cell},
    {"aten::_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward},
    {"aten::_thnn_fused_gru_cell", &gru_cell},
    {"aten::_thnn_fused_gru_cell_backward", &gru_cell_backward},
    {"aten::_fused_rms_norm", &rms_norm},
    {"aten::_fused_rms_norm_backward", &rms_norm_backward},
    {"aten::batch_norm_stats", &batch_norm_stats},
    {"aten::batch_norm_elemt", &batch_norm_elemt},
    {"aten::batch_norm_gather_stats", &batch_norm_gather},
    {"aten::batch_norm_gather_stats_with_counts", &batch_norm_gather},
    {"aten::batch_norm_backward_reduce", &batch_norm_backward_reduce},
    {"aten::batch_norm_backward_elemt", &batch_norm_backward_elemt},
    {"aten::_masked_scale", &masked_scale},
};

}  // namespace

Composed find_composed(std::string_view name) {
  for (const auto part : {std::span<const NamedComposed>(kComposed), composed_attention(), composed_bags(),
                          composed_sigmoid(), composed_softmax()})
    for (const auto& [known, function] : part)
      if (known == name) return function;
  return nullptr;
}

}  // namespace jitc::operators
