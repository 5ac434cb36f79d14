#include "special/products.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/addmm_cuda_dispatch.h>
#include <ATen/ops/baddbmm_cuda_dispatch.h>
#include <ATen/ops/bmm_cuda_dispatch.h>
#include <ATen/ops/mm_cuda_dispatch.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "redirect.h"

namespace jitc::torch_device {
namespace {

using at::Tensor;
using Arguments = std::vector<c10::IValue>;
using Native = Tensor (*)(Arguments& in);

/// One product of two operands, and its form with a given result.
template <auto kPlain, auto kOut>
struct Two {
  static Tensor plain(Arguments& in) { return kPlain(in[0].toTensor(), in[1].toTensor()); }
  static Tensor out(Arguments& in) {
    Tensor result = in[2].toTensor();
    return kOut(in[0].toTensor(), in[1].toTensor(), result);
  }
};

/// A sum with a product: (self, one, other, beta, alpha).
template <auto kPlain, auto kOut, auto kInPlace>
struct Sum {
  static Tensor plain(Arguments& in) {
    return kPlain(in[0].toTensor(), in[1].toTensor(), in[2].toTensor(), in[3].toScalar(), in[4].toScalar());
  }
  static Tensor out(Arguments& in) {
    Tensor result = in[5].toTensor();
    return kOut(in[0].toTensor(), in[1].toTensor(), in[2].toTensor(), in[3].toScalar(), in[4].toScalar(),
                result);
  }
  static Tensor in_place(Arguments& in) {
    Tensor self = in[0].toTensor();
    return kInPlace(self, in[1].toTensor(), in[2].toTensor(), in[3].toScalar(), in[4].toScalar());
  }
};

// PyTorch has each function also with a type for the result; these are the plain ones.
using PlainTwo = Tensor (*)(const Tensor&, const Tensor&);
using OutTwo = Tensor& (*)(const Tensor&, const Tensor&, Tensor&);
using Numbers = const at::Scalar&;
using PlainSum = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, Numbers, Numbers);
using OutSum = Tensor& (*)(const Tensor&, const Tensor&, const Tensor&, Numbers, Numbers, Tensor&);
using InPlaceSum = Tensor& (*)(Tensor&, const Tensor&, const Tensor&, Numbers, Numbers);

using Mm = Two<static_cast<PlainTwo>(&at::cuda::mm), static_cast<OutTwo>(&at::cuda::mm_outf)>;
using Bmm = Two<static_cast<PlainTwo>(&at::cuda::bmm), static_cast<OutTwo>(&at::cuda::bmm_outf)>;
using Addmm = Sum<static_cast<PlainSum>(&at::cuda::addmm), static_cast<OutSum>(&at::cuda::addmm_outf),
                  static_cast<InPlaceSum>(&at::cuda::addmm_)>;
using Baddbmm = Sum<static_cast<PlainSum>(&at::cuda::baddbmm), static_cast<OutSum>(&at::cuda::baddbmm_outf),
                    static_cast<InPlaceSum>(&at::cuda::baddbmm_)>;

/// Returns whether cuBLAS adds self as the bias of a product, so that nothing is copied before.
bool is_bias(const Tensor& self, const Tensor& one, const Tensor& other, const c10::IValue& beta) {
  return self.dim() == 1 && self.is_contiguous() && self.size(0) == other.size(1) && one.size(1) > 1 &&
         other.size(1) > 1 && beta.toScalar().equal(1);
}

/// Returns whether PyTorch's CUDA code would copy self into the result by a kernel of its own.
bool is_spread(const Arguments& in) {
  const Tensor self = in[0].toTensor(), one = in[1].toTensor(), other = in[2].toTensor();
  if (one.dim() != 2 || other.dim() != 2 || one.size(1) != other.size(0))
    return false;  // PyTorch reports what is wrong
  const std::vector<int64_t> sizes{one.size(0), other.size(1)};
  return at::is_expandable_to(self.sizes(), sizes) && !is_bias(self, one, other, in[3]) &&
         !(self.sizes() == c10::IntArrayRef(sizes) && self.is_contiguous());
}

/// Copies self as the operator that a copy is, and adds the product to the copy.
Tensor add_to_spread(Arguments& in) {
  const Tensor self = in[0].toTensor();
  Tensor result =
      self.expand({in[1].toTensor().size(0), in[2].toTensor().size(1)}).clone(at::MemoryFormat::Contiguous);
  return at::cuda::addmm_(result, in[1].toTensor(), in[2].toTensor(), in[3].toScalar(), in[4].toScalar());
}

Tensor addmm(Arguments& in) { return is_spread(in) ? add_to_spread(in) : Addmm::plain(in); }

/// Serves addmm.out: a result that does not lie densely would be filled by a kernel too.
Tensor addmm_out(Arguments& in) {
  Tensor out = in[5].toTensor();
  if (out.is_contiguous() && !out.is_same(in[0].toTensor()) && !is_spread(in)) return Addmm::out(in);
  const Tensor made = addmm(in);
  at::native::resize_output(out, made.sizes());
  return out.copy_(made);
}

struct Product {
  std::string_view name;
  Native native;
};
constexpr Product kProducts[] = {
    {"mm", &Mm::plain},
    {"mm.out", &Mm::out},
    {"bmm", &Bmm::plain},
    {"bmm.out", &Bmm::out},
    {"addmm", &addmm},
    {"addmm.out", &addmm_out},
    {"addmm_", &Addmm::in_place},
    {"baddbmm", &Baddbmm::plain},
    {"baddbmm.out", &Baddbmm::out},
    {"baddbmm_", &Baddbmm::in_place},
};

bool is_complex(const c10::IValue& value) { return value.isTensor() && value.toTensor().is_complex(); }

class ByNumbers final : public c10::OperatorKernel {
 public:
  explicit ByNumbers(Native native) : native_(native) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const auto given = torch::jit::last(*stack, op.schema().arguments().size());
    if (std::any_of(given.begin(), given.end(), is_complex)) return (*redirect_)(op, keys, stack);
    Arguments in(given.begin(), given.end());
    torch::jit::drop(*stack, in.size());
    stack->emplace_back(native_(in));
  }

 private:
  const Native native_;
  const std::unique_ptr<Redirect> redirect_ = std::make_unique<Redirect>();
};

}  // namespace

bool is_matrix_product(const std::string& name) {
  return std::any_of(std::begin(kProducts), std::end(kProducts),
                     [&](const Product& one) { return one.name.substr(0, one.name.find('.')) == name; });
}

void serve_complex_products(torch::Library& library) {
  for (const Product& one : kProducts)
    library.impl(("aten::" + std::string(one.name)).c_str(),
                 torch::CppFunction::makeFromBoxedFunctor(std::make_unique<ByNumbers>(one.native)));
}

}  // namespace jitc::torch_device
