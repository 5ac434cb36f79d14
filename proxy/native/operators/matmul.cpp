// The matmul op on PyTorch's CPU kernels.
//
// cuBLAS is column major. A column-major m x n matrix is a row-major n x m one, so D = op(A) op(B) is
// computed as D' = op(B)' op(A)', which is the very call that PyTorch's CPU code makes for the same program:
// results are those of a run on the CPU.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>

#include "jitc/generated_ops.h"
#include "operators/call/tensors.h"
#include "operators/noise.h"
#include "operators/run.h"

namespace jitc::operators {
namespace {

enum Epilogue : uint32_t {
  kNone = 0,
  kDefault = 1,
  kRelu = 2,
  kBias = 4,
  kReluBias = 6,
  kGelu = 32,
  kGeluBias = 36
};

c10::ScalarType data_type(uint32_t cuda_type) {
  switch (cuda_type) {  // cudaDataType_t
    case 0:
      return c10::ScalarType::Float;
    case 1:
      return c10::ScalarType::Double;
    case 2:
      return c10::ScalarType::Half;
    case 14:
      return c10::ScalarType::BFloat16;
    default:
      throw Malformed("matrix product of cudaDataType " + std::to_string(cuda_type) +
                      ", which the software device does not compute (it does fp32, fp64, fp16 and bf16)");
  }
}

struct Matrix {
  uint64_t address;
  int64_t rows, columns, ld, batch_stride;
  uint32_t type;
  uint32_t transpose = 0;  // cublasOperation_t
};

class Product {
 public:
  Product(const jitc_operator_host& host, const ops::Matmul& op) : host_(host), maker_(host), op_(op) {}
  void run();

 private:
  at::Tensor view(const Matrix& matrix, bool input);
  double scalar(double value, uint64_t address);
  at::Tensor bias();
  void check() const;
  void multiply(at::Tensor& d, at::Tensor left, at::Tensor right, double beta, double alpha) const;
  void finish(at::Tensor& d) const;

  const jitc_operator_host& host_;
  TensorMaker maker_;
  const ops::Matmul& op_;
};

/// Returns the transposed (row-major) view of op(matrix), with the batch in front.
at::Tensor Product::view(const Matrix& matrix, bool input) {
  if (matrix.transpose > 2) throw Malformed("matrix product with an unknown transposition");
  const bool transposed = matrix.transpose != 0;
  if (matrix.ld < std::max<int64_t>(1, transposed ? matrix.columns : matrix.rows))
    throw Malformed("matrix product with a leading dimension that is smaller than the matrix");
  const int64_t across = transposed ? 1 : matrix.ld, down = transposed ? matrix.ld : 1;
  Shape shape{{matrix.columns, matrix.rows}, {across, down}};
  if (op_.batch > 1) {
    shape.sizes.insert(shape.sizes.begin(), op_.batch);
    shape.strides.insert(shape.strides.begin(), matrix.batch_stride);
  }
  const wire::TensorHead head{static_cast<int8_t>(data_type(matrix.type)),
                              static_cast<uint8_t>(shape.sizes.size()), 0};
  Extent extent;
  void* memory = nullptr;
  auto made = maker_.make(head, matrix.address, shape, &extent, &memory);
  const auto wanted = data_type(op_.type_d);
  return input && made.scalar_type() != wanted ? made.to(wanted) : made;
}

double Product::scalar(double value, uint64_t address) {
  if (!address) return value;
  const wire::TensorHead head{static_cast<int8_t>(data_type(op_.scale_type)), 0, 0};
  Extent extent;
  void* memory = nullptr;
  return maker_.make(head, address, {}, &extent, &memory).item().toDouble();
}

at::Tensor Product::bias() {
  if (!op_.bias) throw Malformed("matrix product with a bias epilogue but no bias");
  const wire::TensorHead head{static_cast<int8_t>(data_type(op_.type_bias)), 1, 0};
  Extent extent;
  void* memory = nullptr;
  return maker_.make(head, op_.bias, {{op_.m}, {1}}, &extent, &memory);
}

void Product::check() const {
  if (op_.m < 0 || op_.n < 0 || op_.k < 0 || op_.batch < 1)
    throw Malformed("matrix product with a negative size");
  switch (op_.epilogue) {
    case kNone:
    case kDefault:
    case kRelu:
    case kBias:
    case kReluBias:
    case kGelu:
    case kGeluBias:
      return;
    default:
      throw Malformed("matrix product with cublasLt epilogue " + std::to_string(op_.epilogue) +
                      ", which the software device does not compute");
  }
}

void Product::multiply(at::Tensor& d, at::Tensor left, at::Tensor right, double beta, double alpha) const {
  disturb_product(left, right);
  const bool batched = op_.batch > 1;
  if (beta == 0 && alpha == 1) {  // in that case C may hold any value, including NaN
    batched ? at::bmm_out(d, left, right) : at::mm_out(d, left, right);
  } else {
    batched ? at::baddbmm_out(d, d, left, right, beta, alpha) : at::addmm_out(d, d, left, right, beta, alpha);
  }
}

void Product::finish(at::Tensor& d) const {
  if (op_.epilogue == kRelu || op_.epilogue == kReluBias) d.relu_();
  if (op_.epilogue == kGelu || op_.epilogue == kGeluBias) d.copy_(at::gelu(d, "tanh"));
}

void Product::run() {
  check();
  if (op_.m == 0 || op_.n == 0) return;
  const double alpha = scalar(op_.alpha, op_.alpha_address), beta = scalar(op_.beta, op_.beta_address);
  auto d = view({op_.d, op_.m, op_.n, op_.ldd, op_.stride_d, op_.type_d}, false);
  const auto left = view({op_.b, op_.k, op_.n, op_.ldb, op_.stride_b, op_.type_b, op_.transpose_b}, true);
  const auto right = view({op_.a, op_.m, op_.k, op_.lda, op_.stride_a, op_.type_a, op_.transpose_a}, true);
  if (beta != 0 &&
      (op_.c != op_.d || op_.ldc != op_.ldd || op_.stride_c != op_.stride_d || op_.type_c != op_.type_d))
    d.copy_(view({op_.c, op_.m, op_.n, op_.ldc, op_.stride_c, op_.type_c}, false));
  const bool biased = op_.epilogue & kBias;
  if (biased && beta == 0) {
    d.copy_(bias());  // then accumulated on, as PyTorch's CPU addmm does
    multiply(d, left, right, 1, alpha);
  } else {
    multiply(d, left, right, beta, alpha);
    if (biased) d.add_(bias());
  }
  finish(d);
}

}  // namespace

void run_matmul(const jitc_operator_host& host, std::span<const uint8_t> bytes) {
  if (bytes.size() != sizeof(ops::Matmul)) throw Malformed("matrix product whose size is wrong");
  ops::Matmul op;
  std::memcpy(&op, bytes.data(), sizeof op);
  use_threads();
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::AutoGradMode no_gradients(false);
  Product(host, op).run();
}

}  // namespace jitc::operators
