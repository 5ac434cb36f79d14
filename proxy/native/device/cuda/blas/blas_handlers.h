// cuBLAS and cuBLASLt: handles, calls, products.
// Called by: Device::enqueue through its registry, with its mutex held and the context bound.
#pragma once
#include "blas.h"
#include "device/common/handlers.h"
#include "device/cuda/device/issuer.h"
#include "lt.h"

namespace jitc::cuda {

class BlasHandlers {
 public:
  BlasHandlers(const Issuer& issuer, Streams& streams, const BackendOptions& options)
      : issuer_(issuer), streams_(streams), blas_(options), lt_(options) {}
  Blas& blas() { return blas_; }

 private:
  void create(const ops::BlasCreate& op);
  void destroy(const ops::BlasDestroy& op);
  void set(const ops::BlasSet& op);
  void call(const ops::BlasCall& op);
  void heuristic(const ops::LtHeuristic& op);
  void multiply(const ops::LtMatmul& op);

  const Issuer& issuer_;
  Streams& streams_;
  Blas blas_;
  Lt lt_;

 public:
  using Handled = HandlerList<&BlasHandlers::create, &BlasHandlers::destroy, &BlasHandlers::set,
                              &BlasHandlers::call, &BlasHandlers::heuristic, &BlasHandlers::multiply>;
};

}  // namespace jitc::cuda
